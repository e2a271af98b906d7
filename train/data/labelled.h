#pragma once

#include "../../text/labelled.h"
#include "../../text/labelled_words.h"
#include "../../text/word_ids.h"
#include "encoded_lines.h"

namespace tape::train {

/// Takes about `fraction` of each label's lines out of a corpus, in the order of the file. Errors as draw_part().
text::LabelledCorpus take_part(text::LabelledCorpus& corpus, double fraction, uint64_t seed, const std::string& name);

/// Labelled lines as ids.
struct LabelledIds : EncodedLines {
  std::vector<int64_t> labels;

  void parts(auto&& each) { EncodedLines::parts(each), each(labels); }
};
/// As encode_lines().
LabelledIds encode_labelled(const text::LabelledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length);

struct LabelledBatch : PaddedLines {
  std::vector<int64_t> labels;  ///< [B], or [B, T] where each token has one
};
LabelledBatch collate_labelled(const LabelledIds& lines, const std::vector<int64_t>& which, int64_t padding_id);

/// Takes about `fraction` of the sentences out of a corpus, in the order of the file. Errors as draw_part().
text::LabelledWords take_part(text::LabelledWords& corpus, double fraction, uint64_t seed, const std::string& name);

/// Sentences of labelled words as ids. Those none of whose words has a token are left out.
struct LabelledWordIds {
  LongList<text::WordIds> words;          ///< of each sentence
  LongList<std::vector<int64_t>> labels;  ///< of each word that has a token
  std::vector<int64_t> sentence;          ///< which of the corpus each is
  std::vector<text::ExampleLength> lengths;
  EncoderTokens tokens;
  int64_t all_words = 0, lost_words = 0;  ///< of the corpus, and those of them without a token

  /// What is learned from: see shared_data().
  void parts(auto&& each) {
    each(words), each(labels), each(sentence), each(lengths), each(all_words), each(lost_words);
  }
};
LabelledWordIds encode_labelled(const text::LabelledWords& corpus, const text::Tokenizer& tokenizer,
                                int64_t max_length);

/// With the labels [B, T]: each word's at its first token, -100 elsewhere.
LabelledBatch collate_labelled(const LabelledWordIds& sentences, const std::vector<int64_t>& which, int64_t padding_id);

}  // namespace tape::train
