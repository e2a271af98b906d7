#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "label_names.h"
#include "long_list.h"
#include "record_reader.h"

// Sentences with class labels. See corpus.h for notes and errors.
namespace tape::text {

/// Line format of a sentence and its label.
enum class LabelFormat {
  sentence_tab_label,    ///< "a fine film<TAB>1"; a first line "sentence<TAB>label" is a header
  label_space_sentence,  ///< "DESC How did serfdom develop ?": the label ends at the first space
};

/// Sentences with class labels.
struct LabeledCorpus {
  LongList<std::string> sentences;       ///< none is empty
  std::vector<int64_t> labels;           ///< indices into label_names
  std::vector<int64_t> line;             ///< line number of each sentence, from 1
  std::vector<std::string> label_names;  ///< label of each id
  int64_t empty_sentences = 0;           ///< lines skipped because the sentence is blank
  std::vector<std::string> notes;        ///< messages about skipped lines and others, see corpus.h

  /// Number of sentences, without skipped ones.
  int64_t size() const { return static_cast<int64_t>(sentences.size()); }
};

/// Reads labeled lines. LabelEncoder assigns the label ids.
///
/// Throws Error (format) with the line if it has no tab or more than one, no space, or an empty label; and with file,
/// line and label for a label that is not in label_names, if given.
LabeledCorpus read_labeled(const std::string& file, LabelFormat format = LabelFormat::sentence_tab_label,
                           LabelNames label_names = {});

/// Names of the record fields for sentence and label. In JSON a label may be a string, an integer or a Boolean.
struct LabeledFields {
  std::string text = "text",  ///< field of the sentence
      label = "label";        ///< field of its label
};

/// Same from records. Also throws the errors of RecordReader.
LabeledCorpus read_labeled_records(const std::string& file, RecordFormat format, const LabeledFields& fields = {},
                                   LabelNames label_names = {});

}  // namespace tape::text
