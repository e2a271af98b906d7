#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "folder/config.h"
#include "steps/pipeline.h"
#include "steps/word_models.h"

namespace tape::text {

/// Options of a ByteLevelBpe with a given vocabulary.
struct ByteLevelBpeOptions {
  bool add_prefix_space = false;  ///< prepend a space to a text that does not begin with one
  /// Special tokens, "" for none. They are matched verbatim in the text; those missing from the vocabulary are
  /// appended.
  /// @{
  std::string bos = "<|endoftext|>", eos = "<|endoftext|>", unk = "<|endoftext|>", pad = {}, mask = {};
  /// @}
  std::vector<std::string> more = {};  ///< additional special tokens
};

/// GPT-2's tokenizer (Radford et al. 2019, section 2.2), with the same results as `transformers`' GPT2Tokenizer: splits
/// words by GPT-2's pattern (gpt2_word) and merges the bytes of each word by rank. Adds no special tokens. If loaded
/// from a folder whose tokenizer_class is RobertaTokenizer (Liu et al. 2019) or BartTokenizer, or whose model_type in
/// config.json has one of these, it behaves as that class: `<s> text </s>`, pairs `<s> a </s> </s> b </s>`, offsets
/// without spaces.
///
/// Encodes arbitrary bytes, valid UTF-8 or not. decode restores them exactly if the vocabulary has a token for each
/// byte; a byte without one is dropped, as in `tokenizers`.
class ByteLevelBpe : public Pipeline {
 public:
  /// `vocabulary`: tokens in order of ids, in GPT-2's alphabet (byte_characters). `merges`: token pairs in order of
  /// priority. Throws Error (format) for a merge with a token that is not in the vocabulary.
  ByteLevelBpe(const std::vector<std::string>& vocabulary, Merges merges, const ByteLevelBpeOptions& options = {});
  /// Reads vocab.json, merges.txt, tokenizer_config.json and the class in config.json from a folder. Throws Error
  /// (format) if a RoBERTa or BART tokenizer has no cls_token or sep_token.
  static std::unique_ptr<ByteLevelBpe> load(const std::string& folder);

  /// Token pairs in order of priority.
  const Merges& merges() const { return merges_; }
  /// Writes vocab.json, merges.txt and tokenizer_config.json.
  void save(const std::string& folder) const override;

 private:
  struct Files {
    std::string vocabulary, merges;  // file names for error messages
  };
  ByteLevelBpe(TokenTable::Entries vocabulary, Merges merges, TokenizerConfig config, const Files& files);
  void make_template(const Files& files);

  Merges merges_;
};

}  // namespace tape::text
