#include "text/corpus/labeled.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"
#include "base/utf8.h"
#include "text/corpus/corpus_file.h"
#include "text/corpus/line_reader.h"

namespace tape::text {
namespace {

/// Splits a line into sentence and label; spaces around the label are removed.
struct LabeledParts {
  std::string_view sentence, label;
};

LabeledParts split(std::string_view line, LabelFormat format, const std::string& file, int64_t number) {
  LabeledParts parts;
  if (format == LabelFormat::sentence_tab_label) {
    const auto fields = std::ranges::count(line, '\t') + 1;
    if (fields != 2)
      raise(ErrorKind::format, "{}: line {}: {}, expected 2: sentence TAB label{}", file, number,
            counted(fields, "field"),
            fields == 1 && line.find(' ') != std::string_view::npos
                ? "; for lines of label SPACE sentence use the format label-first"
                : "");
    const size_t tab = line.find('\t');
    parts = {line.substr(0, tab), trimmed(line.substr(tab + 1))};
  } else {
    const std::string_view text = trimmed(line);
    const size_t blank = text.find_first_of(" \t");
    if (blank == std::string_view::npos)
      raise(ErrorKind::format, "{}: line {}: no space between label and sentence", file, number);
    parts = {trimmed(text.substr(blank)), text.substr(0, blank)};
  }
  if (parts.label.empty()) raise(ErrorKind::format, "{}: line {}: the label is empty", file, number);
  return parts;
}

/// GLUE files have a header line.
bool is_header(std::string_view line) {
  return line == "sentence\tlabel" || line == "text\tlabel" || line == "Sentence\tLabel" || line == "Text\tLabel";
}

/// Collects examples; final label ids are assigned at the end.
class Gathered {
 public:
  explicit Gathered(const std::string& file) : file_(file), numbers_(file) {}

  /// Counts a line.
  void count() { ++lines_; }
  /// Counts an empty sentence.
  void skip() { ++corpus_.empty_sentences; }
  void note(std::string note) { corpus_.notes.push_back(std::move(note)); }
  void add(std::string_view sentence, std::string_view label, int64_t line) {
    corpus_.sentences.push_back(std::string(sentence));
    corpus_.labels.push_back(numbers_.add_label(label, line));
    corpus_.line.push_back(line);
  }

  /// Assigns final label ids and appends the notes on skipped examples to the reader's notes.
  LabeledCorpus finish(std::vector<std::string> notes, LabelNames known) {
    corpus_.notes.insert(corpus_.notes.begin(), notes.begin(), notes.end());
    if (corpus_.sentences.empty())
      raise(ErrorKind::config, "{}: {}", file_,
            corpus_.empty_sentences == 0 ? "the file has no examples" : "every sentence is empty");
    if (corpus_.empty_sentences > 0)
      note(fmt::format("{}: {} of {} skipped: empty sentence", file_, grouped(corpus_.empty_sentences),
                       counted(lines_, "line")));
    const LabelEncoder::Final found = numbers_.finish(known);
    for (int64_t& label : corpus_.labels) label = found.numbers[static_cast<size_t>(label)];
    corpus_.label_names = found.names;
    return std::move(corpus_);
  }

 private:
  const std::string& file_;
  LabelEncoder numbers_;
  LabeledCorpus corpus_;
  int64_t lines_ = 0;
};

}  // namespace

LabeledCorpus read_labeled(const std::string& file, LabelFormat format, LabelNames label_names) {
  LineReader lines(file);
  Gathered all(file);
  while (const auto line = lines.next()) {
    if (lines.number() == 1 && format == LabelFormat::sentence_tab_label && is_header(*line)) {
      all.note(fmt::format("{}: line 1 is a header and was skipped", file));
      continue;
    }
    all.count();
    const LabeledParts parts = is_empty(*line) ? LabeledParts() : split(*line, format, file, lines.number());
    if (is_empty(parts.sentence))
      all.skip();
    else
      all.add(parts.sentence, parts.label, lines.number());
  }
  return all.finish(lines.notes(), label_names);
}

LabeledCorpus read_labeled_records(const std::string& file, RecordFormat format, const LabeledFields& fields,
                                   LabelNames label_names) {
  const std::unique_ptr<RecordReader> records = RecordReader::open(file, format);
  Gathered all(file);
  while (records->next()) {
    all.count();
    const std::string sentence = records->text(fields.text), label = records->name(fields.label);
    if (is_empty(sentence))
      all.skip();
    else
      all.add(sentence, label, records->line());
  }
  return all.finish(records->notes(), label_names);
}

}  // namespace tape::text
