#include "text/corpus/labeled_words.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"
#include "text/corpus/corpus_file.h"
#include "text/corpus/line_reader.h"

namespace tape::text {
namespace {

/// Collects sentences; final label ids are assigned at the end.
class GatheredWords {
 public:
  explicit GatheredWords(const std::string& file) : file_(file), numbers_(file) {}

  /// Adds a word to the current sentence.
  void add(std::string_view word, std::string_view label, int64_t line) {
    if (words_.empty()) corpus_.line.push_back(line);
    words_.emplace_back(word);
    labels_.push_back(numbers_.add_label(label, line));
  }
  void end_sentence() {
    if (words_.empty()) return;
    corpus_.words.push_back(words_);
    label_ids_.push_back(labels_);
    words_.clear();
    labels_.clear();
  }

  LabeledWords finish(std::vector<std::string> notes, LabelNames known) {
    end_sentence();
    corpus_.notes = std::move(notes);
    if (corpus_.words.empty()) raise(ErrorKind::config, "{}: the file has no examples", file_);
    const LabelEncoder::Final found = numbers_.finish(known);
    for (std::vector<int64_t> labels : label_ids_) {
      for (int64_t& label : labels) label = found.numbers[static_cast<size_t>(label)];
      corpus_.labels.push_back(labels);
    }
    corpus_.label_names = found.names;
    return std::move(corpus_);
  }

 private:
  const std::string& file_;
  LabelEncoder numbers_;
  LabeledWords corpus_;
  LongList<std::vector<int64_t>> label_ids_;
  std::vector<std::string> words_;
  std::vector<int64_t> labels_;
};

/// Splits a line into columns.
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

}  // namespace

LabeledWords read_conll(const std::string& file, LabelNames label_names) {
  LineReader reader(file);
  GatheredWords all(file);
  size_t expected = 0;
  int64_t documents = 0;
  while (const std::optional<std::string_view> line = reader.next()) {
    const std::vector<std::string_view> columns = columns_of(*line);
    if (columns.empty() || columns.front() == "-DOCSTART-") {
      all.end_sentence();
      documents += columns.empty() ? 0 : 1;
      continue;
    }
    if (columns.size() < 2)
      raise(ErrorKind::format, "{}: line {}: no label after the word \"{}\"", file, reader.number(), columns.front());
    if (expected == 0) expected = columns.size();
    if (columns.size() != expected)
      raise(ErrorKind::format, "{}: line {}: {}, but earlier lines have {}", file, reader.number(),
            counted(std::ssize(columns), "column"), expected);
    all.add(columns.front(), columns.back(), reader.number());
  }
  std::vector<std::string> notes = reader.notes();
  if (documents > 0)
    notes.push_back(fmt::format("{}: {} that {} with -DOCSTART- skipped", file, counted(documents, "line"),
                                documents == 1 ? "begins" : "begin"));
  return all.finish(std::move(notes), label_names);
}

LabeledWords read_labeled_words(const std::string& file, RecordFormat format, const LabeledWordsFields& fields,
                                LabelNames label_names) {
  const std::unique_ptr<RecordReader> records = RecordReader::open(file, format);
  GatheredWords all(file);
  int64_t empty = 0;
  while (records->next()) {
    const std::string& field = !fields.labels.empty()                                ? fields.labels
                               : !records->has("labels") && records->has("ner_tags") ? "ner_tags"
                                                                                     : "labels";
    const std::vector<std::string> words = records->names(fields.tokens), labels = records->names(field);
    if (words.size() != labels.size())
      raise(ErrorKind::format, "{}: line {}: {} in \"{}\", {} in \"{}\"", file, records->line(),
            counted(std::ssize(words), "word"), fields.tokens, counted(std::ssize(labels), "label"), field);
    empty += words.empty() ? 1 : 0;
    for (size_t i = 0; i < words.size(); ++i) all.add(words[i], labels[i], records->line());
    all.end_sentence();
  }
  std::vector<std::string> notes = records->notes();
  if (empty > 0) notes.push_back(fmt::format("{}: {} without words skipped", file, counted(empty, "record")));
  return all.finish(std::move(notes), label_names);
}

}  // namespace tape::text
