#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "label_names.h"
#include "long_list.h"
#include "record_reader.h"

// Sentences with their classes. Read as corpus.h says of every reader, with its errors.
namespace tape::text {

/// How a line says which class its sentence has.
enum class LabelFormat {
  sentence_tab_label,    ///< "a fine film<TAB>1"; a first line that says "sentence<TAB>label" is a header
  label_space_sentence,  ///< "DESC How did serfdom develop ?": the label ends at the first blank
};

/// Sentences with their classes.
struct LabelledCorpus {
  LongList<std::string> sentences;  ///< none is empty
  std::vector<int64_t> labels;      ///< of each sentence: a place in label_names
  std::vector<int64_t> line;        ///< where each stood in the file, from 1
  std::vector<std::string> label_names;
  int64_t empty_sentences = 0;  ///< lines skipped because the sentence has nothing but white space
  std::vector<std::string> notes;

  int64_t size() const { return static_cast<int64_t>(sentences.size()); }
};

/// Labelled lines, the labels numbered as LabelNumbers says.
///
/// Error (format) naming the line: no tab or more than one, no blank, an empty label; with label_names a label that is
/// not among them, naming file, line and label.
LabelledCorpus read_labelled(const std::string& file, LabelFormat format = LabelFormat::sentence_tab_label,
                             LabelNames label_names = {});

/// Where records have a sentence and its label, which may be a whole number or a truth value in JSON.
struct LabelledFields {
  std::string text = "text", label = "label";
};

/// The same from records. Errors as RecordReader's besides.
LabelledCorpus read_labelled_records(const std::string& file, RecordFormat format, const LabelledFields& fields = {},
                                     LabelNames label_names = {});

}  // namespace tape::text
