#include "text/labelled.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/number_text.h"
#include "text/corpus.h"
#include "text/corpus_file.h"

namespace tape::text {
namespace {

/// A line's two parts, the label without blanks around it.
struct Parts {
  std::string_view sentence, label;
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

Parts split(std::string_view line, LabelFormat format, const std::string& file, size_t number) {
  Parts parts;
  if (format == LabelFormat::sentence_tab_label) {
    const auto fields = std::ranges::count(line, '\t') + 1;
    if (fields != 2)
      raise(ErrorKind::format, "{}: line {}: {}, expected 2: sentence TAB label{}", file, number,
            counted(fields, "field"),
            fields == 1 && line.find(' ') != std::string_view::npos
                ? "; lines of label SPACE sentence are of the format label-first"
                : "");
    const size_t tab = line.find('\t');
    parts = {line.substr(0, tab), trimmed(line.substr(tab + 1))};
  } else {
    const std::string_view text = trimmed(line);
    const size_t blank = text.find_first_of(" \t");
    if (blank == std::string_view::npos)
      raise(ErrorKind::format, "{}: line {}: no blank between label and sentence", file, number);
    parts = {trimmed(text.substr(blank)), text.substr(0, blank)};
  }
  if (parts.label.empty()) raise(ErrorKind::format, "{}: line {}: the label is empty", file, number);
  return parts;
}

/// GLUE's files name their columns.
bool is_header(std::string_view line) {
  return line == "sentence\tlabel" || line == "text\tlabel" || line == "Sentence\tLabel" || line == "Text\tLabel";
}

/// Lines as they are gathered, with the names of their labels.
struct Gathered {
  LabelledCorpus corpus;
  std::vector<std::string> labels;
  int64_t lines = 0;  // examples, with those that are skipped

  void add(std::string_view sentence, std::string_view label, int64_t line) {
    corpus.sentences.emplace_back(sentence);
    labels.emplace_back(label);
    corpus.line.push_back(line);
  }
};

Gathered gather_lines(const std::string& file, LabelFormat format) {
  Lines lines = read_lines(file);
  Gathered all;
  all.corpus.notes = std::move(lines.notes);
  size_t first = 0;
  if (format == LabelFormat::sentence_tab_label && !lines.lines.empty() && is_header(lines.lines[0])) {
    first = 1;
    all.corpus.notes.push_back(fmt::format("{}: line 1 names the columns; not an example", file));
  }
  all.lines = std::ssize(lines.lines) - static_cast<int64_t>(first);
  for (size_t i = first; i < lines.lines.size(); ++i) {
    if (is_empty(lines.lines[i])) {
      ++all.corpus.empty_sentences;
      continue;
    }
    const Parts parts = split(lines.lines[i], format, file, i + 1);
    if (is_empty(parts.sentence))
      ++all.corpus.empty_sentences;
    else
      all.add(parts.sentence, parts.label, static_cast<int64_t>(i + 1));
  }
  return all;
}

Gathered gather_records(const std::string& file, RecordFormat format, const LabelledFields& fields) {
  const std::unique_ptr<RecordReader> records = RecordReader::open(file, format);
  Gathered all;
  while (records->next()) {
    ++all.lines;
    const std::string sentence = records->text(fields.text), label = records->name(fields.label);
    if (is_empty(sentence))
      ++all.corpus.empty_sentences;
    else
      all.add(sentence, label, records->line());
  }
  all.corpus.notes = records->notes();
  return all;
}

/// Numbers the labels, and tells what was skipped.
LabelledCorpus finish(const std::string& file, Gathered all, LabelNames known) {
  LabelledCorpus corpus = std::move(all.corpus);
  if (corpus.sentences.empty())
    raise(ErrorKind::config, "{}: {}", file,
          corpus.empty_sentences == 0 ? "the file has no examples" : "every sentence is empty");
  if (corpus.empty_sentences > 0)
    corpus.notes.push_back(fmt::format("{}: {} of {} skipped: empty sentence", file, grouped(corpus.empty_sentences),
                                       counted(all.lines, "line")));
  const LabelNumbers numbers(known, all.labels);
  for (size_t i = 0; i < all.labels.size(); ++i)
    corpus.labels.push_back(numbers.of(all.labels[i], file, corpus.line[i]));
  corpus.label_names = numbers.names();
  return corpus;
}

}  // namespace

LabelledCorpus read_labelled(const std::string& file, LabelFormat format, LabelNames label_names) {
  return finish(file, gather_lines(file, format), label_names);
}

LabelledCorpus read_labelled_records(const std::string& file, RecordFormat format, const LabelledFields& fields,
                                     LabelNames label_names) {
  return finish(file, gather_records(file, format, fields), label_names);
}

}  // namespace tape::text
