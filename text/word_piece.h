#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tokenizers/config.h"
#include "tokenizers/pipeline.h"

namespace tape::text {

struct WordPieceOptions {
  bool lowercase = true;
  std::optional<bool> strip_accents = std::nullopt;  ///< as `lowercase` where it is not given
  bool handle_chinese_chars = true;
  int64_t max_word_characters = 100;  ///< longer words are unknown
  std::string unk = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
};

/// BERT's tokenizer (Devlin et al. 2018, appendix; google-research/bert tokenization.py), equal to `transformers`'
/// BertTokenizer: control characters dropped, blanks around CJK characters, lower case, accents stripped, punctuation
/// split off, each word the greedy longest match of the vocabulary.
///
/// [CLS] first [SEP] second [SEP], type ids 0 up to the first [SEP] and 1 behind it. Broken UTF-8 is dropped, as
/// Python's `errors="replace"` and the cleaning do together.
class WordPiece : public Pipeline {
 public:
  /// `vocabulary`: tokens in the order of their ids, "##" before those that continue a word. Special tokens that it
  /// lacks are appended. Error (format) for a token that is empty or stands twice.
  explicit WordPiece(std::vector<std::string> vocabulary, const WordPieceOptions& options = {});
  /// Reads vocab.txt of a folder, one token a line, and tokenizer_config.json.
  static std::unique_ptr<WordPiece> load(const std::string& folder);

  /// Writes vocab.txt and tokenizer_config.json.
  void save(const std::string& folder) const override;

 private:
  WordPiece(TokenTable::Entries vocabulary, TokenizerConfig config, int64_t max_word_characters,
            const std::string& where);
};

}  // namespace tape::text
