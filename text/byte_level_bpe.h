#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tokenizers/config.h"
#include "tokenizers/pipeline.h"
#include "tokenizers/word_models.h"

namespace tape::text {

struct ByteLevelBpeOptions {
  bool add_prefix_space = false;  ///< a blank before a text that begins without one
  /// Looked for in the text as they stand; those that the vocabulary lacks are appended.
  std::string bos = "<|endoftext|>", eos = "<|endoftext|>", unk = "<|endoftext|>", pad = {}, mask = {};
  std::vector<std::string> more = {};  ///< further special tokens
};

/// GPT-2's tokenizer (Radford et al. 2019, section 2.2), equal to `transformers`' GPT2Tokenizer: words by its pattern
/// (gpt2_word), each word's bytes merged by rank. Adds no token at the ends. Read from a folder whose tokenizer_class
/// is RobertaTokenizer (Liu et al. 2019), or BartTokenizer, it is that: <s> text </s>, pairs <s> a </s> </s> b </s>,
/// offsets without blanks.
///
/// Any bytes are encoded, valid UTF-8 or not, and decode gives the same bytes again as long as the vocabulary has a
/// token for each byte; a byte without one is left out, as `tokenizers` does.
class ByteLevelBpe : public Pipeline {
 public:
  /// `vocabulary`: tokens in the order of their ids, in GPT-2's alphabet (byte_characters). `merges`: pairs of tokens,
  /// the first to be merged first. Error (format) naming the merge for one of tokens that the vocabulary lacks.
  ByteLevelBpe(const std::vector<std::string>& vocabulary, Merges merges, const ByteLevelBpeOptions& options = {});
  /// Reads vocab.json, merges.txt and tokenizer_config.json of a folder. Error (format) for one of RoBERTa's class
  /// without cls_token or sep_token.
  static std::unique_ptr<ByteLevelBpe> load(const std::string& folder);

  const Merges& merges() const { return merges_; }
  /// Writes vocab.json, merges.txt and tokenizer_config.json.
  void save(const std::string& folder) const override;

 private:
  struct Files {
    std::string vocabulary, merges;  // their names in errors
  };
  ByteLevelBpe(TokenTable::Entries vocabulary, Merges merges, TokenizerConfig config, const Files& files);
  void make_template(const Files& files);

  Merges merges_;
};

}  // namespace tape::text
