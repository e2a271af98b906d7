#pragma once

#include <optional>
#include <string>
#include <vector>

#include "folder/config.h"
#include "steps/pipeline.h"

namespace tape::text {

/// Options of a WordPiece with a given vocabulary.
struct WordPieceOptions {
  bool lowercase = true;                             ///< lowercase texts before splitting
  std::optional<bool> strip_accents = std::nullopt;  ///< default: same as `lowercase`
  bool handle_chinese_chars = true;                  ///< put spaces around CJK characters, so that each is a word
  int64_t max_word_characters = 100;                 ///< longer words become the unknown token
  /// Special tokens.
  /// @{
  std::string unk = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
  /// @}
};

/// BERT's tokenizer (Devlin et al. 2018, appendix; google-research/bert tokenization.py), with the same results as
/// `transformers`' BertTokenizer: removes control characters, puts spaces around CJK characters, lowercases, strips
/// accents, splits off punctuation, and splits each word by greedy longest match.
///
/// [CLS] first [SEP] second [SEP], with type ids 0 up to the first [SEP] and 1 after it. Invalid UTF-8 is dropped, as
/// by Python's `errors="replace"` followed by cleaning.
class WordPiece : public Pipeline {
 public:
  /// `vocabulary`: tokens in order of ids, with the prefix "##" if they continue a word. Missing special tokens are
  /// appended. Throws Error (format) for an empty or duplicate token.
  explicit WordPiece(std::vector<std::string> vocabulary, const WordPieceOptions& options = {});
  /// Reads vocab.txt, one token per line, and tokenizer_config.json from a folder.
  static std::unique_ptr<WordPiece> load(const std::string& folder);

  /// Writes vocab.txt and tokenizer_config.json.
  void save(const std::string& folder) const override;

 private:
  WordPiece(TokenTable::Entries vocabulary, TokenizerConfig config, int64_t max_word_characters,
            const std::string& where);
};

}  // namespace tape::text
