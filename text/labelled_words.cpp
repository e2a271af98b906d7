#include "text/labelled_words.h"

#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "text/corpus_file.h"
#include "text/line_reader.h"

namespace tape::text {
namespace {

/// Sentences as they are gathered, with the names of their labels.
struct GatheredWords {
  LabelledWords corpus;
  std::vector<std::vector<std::string>> labels;
  std::vector<std::vector<int64_t>> lines;  // of each word

  void add(std::vector<std::string> words, std::vector<std::string> names, std::vector<int64_t> at) {
    if (words.empty()) return;
    corpus.line.push_back(at.front());
    corpus.words.push_back(std::move(words));
    labels.push_back(std::move(names));
    lines.push_back(std::move(at));
  }
};

/// The columns of a line that has something.
std::vector<std::string_view> columns_of(std::string_view line) {
  const size_t end = line.find_last_not_of(" \t");
  line = line.substr(0, end + 1);
  const char* const between = line.find('\t') == std::string_view::npos ? " " : "\t";
  std::vector<std::string_view> columns;
  for (size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;) {
    const size_t next = std::min(line.find(between, at), line.size());
    std::string_view column = line.substr(at, next - at);
    columns.push_back(column.substr(0, column.find_last_not_of(' ') + 1));
    at = line.find_first_not_of(" \t", next);
  }
  return columns;
}

GatheredWords gather_conll(const std::string& file) {
  LineReader reader(file);
  GatheredWords all;
  std::vector<std::string> words, labels;
  std::vector<int64_t> lines;
  size_t expected = 0;
  int64_t documents = 0;
  const auto end_sentence = [&] {
    all.add(std::exchange(words, {}), std::exchange(labels, {}), std::exchange(lines, {}));
  };
  while (const std::optional<std::string_view> line = reader.next()) {
    const std::vector<std::string_view> columns = columns_of(*line);
    if (columns.empty() || columns.front() == "-DOCSTART-") {
      end_sentence();
      documents += columns.empty() ? 0 : 1;
      continue;
    }
    if (columns.size() < 2)
      raise(ErrorKind::format, "{}: line {}: no label behind the word \"{}\"", file, reader.number(), columns.front());
    if (expected == 0) expected = columns.size();
    if (columns.size() != expected)
      raise(ErrorKind::format, "{}: line {}: {}, the lines above have {}", file, reader.number(),
            counted(std::ssize(columns), "column"), expected);
    words.emplace_back(columns.front());
    labels.emplace_back(columns.back());
    lines.push_back(reader.number());
  }
  end_sentence();
  all.corpus.notes = reader.notes();
  if (documents > 0)
    all.corpus.notes.push_back(fmt::format("{}: {} that {} with -DOCSTART- skipped", file, counted(documents, "line"),
                                           documents == 1 ? "begins" : "begin"));
  return all;
}

GatheredWords gather_word_records(const std::string& file, RecordFormat format, const LabelledWordsFields& fields) {
  const std::unique_ptr<RecordReader> records = RecordReader::open(file, format);
  GatheredWords all;
  int64_t empty = 0;
  while (records->next()) {
    const std::string& field = !fields.labels.empty()                                ? fields.labels
                               : !records->has("labels") && records->has("ner_tags") ? "ner_tags"
                                                                                     : "labels";
    std::vector<std::string> words = records->names(fields.tokens), labels = records->names(field);
    if (words.size() != labels.size())
      raise(ErrorKind::format, "{}: line {}: {} in \"{}\", {} in \"{}\"", file, records->line(),
            counted(std::ssize(words), "word"), fields.tokens, counted(std::ssize(labels), "label"), field);
    empty += words.empty() ? 1 : 0;
    std::vector<int64_t> lines(words.size(), records->line());
    all.add(std::move(words), std::move(labels), std::move(lines));
  }
  all.corpus.notes = records->notes();
  if (empty > 0)
    all.corpus.notes.push_back(fmt::format("{}: {} without words skipped", file, counted(empty, "record")));
  return all;
}

/// Numbers the labels.
LabelledWords numbered(const std::string& file, GatheredWords all, LabelNames known) {
  LabelledWords corpus = std::move(all.corpus);
  if (corpus.words.empty()) raise(ErrorKind::config, "{}: the file has no examples", file);
  std::vector<std::string> found;
  for (const std::vector<std::string>& labels : all.labels) found.insert(found.end(), labels.begin(), labels.end());
  const LabelNumbers numbers(known, std::move(found));
  for (size_t i = 0; i < all.labels.size(); ++i) {
    std::vector<int64_t>& of_sentence = corpus.labels.emplace_back();
    for (size_t k = 0; k < all.labels[i].size(); ++k)
      of_sentence.push_back(numbers.of(all.labels[i][k], file, all.lines[i][k]));
  }
  corpus.label_names = numbers.names();
  return corpus;
}

}  // namespace

LabelledWords read_conll(const std::string& file, LabelNames label_names) {
  return numbered(file, gather_conll(file), label_names);
}

LabelledWords read_labelled_words(const std::string& file, RecordFormat format, const LabelledWordsFields& fields,
                                  LabelNames label_names) {
  return numbered(file, gather_word_records(file, format, fields), label_names);
}

}  // namespace tape::text
