#pragma once

#include "label_names.h"
#include "long_list.h"
#include "record_reader.h"

// Sentences of words each of which has a label: names in texts, parts of speech. Read as corpus.h says of every reader,
// with its errors.
namespace tape::text {

/// Sentences with the labels of their words.
struct LabelledWords {
  LongList<std::vector<std::string>> words;  ///< of each sentence; none is without words
  LongList<std::vector<int64_t>> labels;     ///< of each word: a place in label_names
  std::vector<int64_t> line;                 ///< where each sentence begins in the file, from 1
  std::vector<std::string> label_names;
  std::vector<std::string> notes;

  int64_t size() const { return static_cast<int64_t>(words.size()); }
};

/// Lines as those of CoNLL-2003: a word, whatever else there is, and its label in the last column; columns between
/// blanks, or between tabs in a line that has one. A line without anything ends a sentence, a line that begins with
/// -DOCSTART- does too and is skipped and counted. Labels are numbered as LabelNumbers says.
///
/// Error (format) naming the line: a word without a label, another number of columns than the lines above it have; with
/// label_names a label that is not among them.
LabelledWords read_conll(const std::string& file, LabelNames label_names = {});

/// Where records have the words of a sentence and their labels, as many of these.
struct LabelledWordsFields {
  std::string tokens = "tokens";
  std::string labels = {};  ///< "": "labels", or "ner_tags" in a record that has no "labels"
};

/// The same from records: {"tokens": ["Anna", "sings"], "labels": ["B-PER", "O"]}. A record without words is skipped
/// and counted. Error (format) naming file and line for unequal numbers of both; errors as RecordReader's besides.
LabelledWords read_labelled_words(const std::string& file, RecordFormat format, const LabelledWordsFields& fields = {},
                                  LabelNames label_names = {});

}  // namespace tape::text
