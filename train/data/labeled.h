#pragma once

#include "../../text/corpus/labeled.h"
#include "../../text/corpus/labeled_words.h"
#include "../../text/corpus/word_ids.h"
#include "encoded_lines.h"

namespace tape::train {

/// Moves about `fraction` of each label's lines out of a corpus, keeping the order of the file. Errors of draw_part().
text::LabeledCorpus take_part(text::LabeledCorpus& corpus, double fraction, uint64_t seed, const std::string& name);

/// Encoded lines with a label each.
struct LabeledIds : EncodedLines {
  std::vector<int64_t> labels;

  void parts(auto&& each) { EncodedLines::parts(each), each(labels); }
};
/// See encode_lines().
LabeledIds encode_labeled(const text::LabeledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length);

struct LabeledBatch : PaddedLines {
  std::vector<int64_t> labels;  ///< [B], or [B, T] for token labels
};
LabeledBatch collate_labeled(const LabeledIds& lines, const std::vector<int64_t>& which, int64_t padding_id);

/// Moves about `fraction` of the sentences out of a corpus, keeping the order of the file. Errors of draw_part().
text::LabeledWords take_part(text::LabeledWords& corpus, double fraction, uint64_t seed, const std::string& name);

/// Encoded sentences with a label per word. Sentences without any word that has a token are omitted.
struct LabeledWordIds {
  LongList<text::WordIds> words;          ///< words of each sentence
  LongList<std::vector<int64_t>> labels;  ///< labels of the words that have a token
  std::vector<int64_t> sentence;          ///< index of each sentence in the corpus
  std::vector<text::ExampleLength> lengths;
  LineEncoder tokens;
  int64_t all_words = 0, lost_words = 0;  ///< words of the corpus, and those without a token

  /// The members that ranks share: see shared_data().
  void parts(auto&& each) {
    each(words), each(labels), each(sentence), each(lengths), each(all_words), each(lost_words);
  }
};
LabeledWordIds encode_labeled(const text::LabeledWords& corpus, const text::Tokenizer& tokenizer, int64_t max_length);

/// With labels [B, T]: a word's label at its first token, -100 elsewhere.
LabeledBatch collate_labeled(const LabeledWordIds& sentences, const std::vector<int64_t>& which, int64_t padding_id);

}  // namespace tape::train
