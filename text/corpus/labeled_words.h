#pragma once

#include "label_names.h"
#include "long_list.h"
#include "record_reader.h"

// Sentences with a label per word, as for named entities or parts of speech. See corpus.h for notes and errors.
namespace tape::text {

/// Sentences with word labels.
struct LabeledWords {
  LongList<std::vector<std::string>> words;  ///< words of each sentence; none is empty
  LongList<std::vector<int64_t>> labels;     ///< label of each word: an index into label_names
  std::vector<int64_t> line;                 ///< first line of each sentence in the file, from 1
  std::vector<std::string> label_names;      ///< label of each id
  std::vector<std::string> notes;            ///< messages about skipped lines and others, see corpus.h

  /// Number of sentences, without skipped ones.
  int64_t size() const { return static_cast<int64_t>(words.size()); }
};

/// Reads the format of CoNLL-2003: a word in the first column and its label in the last, columns separated by spaces,
/// or by tabs if the line has one. A blank line ends a sentence; a line that begins with -DOCSTART- does too and is
/// skipped and counted. LabelEncoder assigns the label ids.
///
/// Throws Error (format) with the line for a word without a label, a number of columns that differs from earlier lines,
/// and a label that is not in label_names, if given.
LabeledWords read_conll(const std::string& file, LabelNames label_names = {});

/// Names of the record fields for a sentence's words and for their labels.
struct LabeledWordsFields {
  std::string tokens = "tokens";  ///< field with the list of a sentence's words
  std::string labels = {};        ///< "": "labels", or "ner_tags" in a record without "labels"
};

/// Same from records: {"tokens": ["Anna", "sings"], "labels": ["B-PER", "O"]}. A record without words is skipped and
/// counted. Throws Error (format) with file and line if the counts differ, and the errors of RecordReader.
LabeledWords read_labeled_words(const std::string& file, RecordFormat format, const LabeledWordsFields& fields = {},
                                LabelNames label_names = {});

}  // namespace tape::text
