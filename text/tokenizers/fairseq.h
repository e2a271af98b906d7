#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "folder/language_kind.h"
#include "mapped_sentence_piece.h"

namespace tape::text {

/// The tokenizer of M2M-100 (Fan et al. 2021), `__en__ text </s>`, with the same results as `transformers`'
/// M2M100Tokenizer: the sentencepiece library splits and vocab.json gives the ids. Languages come after them, or have
/// the ids in added_tokens_decoder of tokenizer_config.json. For other fairseq models see PieceTokenizer.
///
/// This object encodes texts in src_lang of tokenizer_config.json (default English), target() those in tgt_lang; `load`
/// can override both. The model file must be trusted, see SentencePiece.
class Fairseq : public MappedSentencePiece {
 public:
  /// Whether this is the class for a tokenizer_class, given without its "Fast" suffix.
  static bool knows(std::string_view tokenizer_class);
  /// Reads sentencepiece.bpe.model, vocab.json and tokenizer_config.json from a folder. Throws Error (format) with file
  /// and entry for malformed content, and for an unknown language.
  static std::unique_ptr<Fairseq> load(const std::string& folder, const Languages& languages = {});

  /// Encodes texts of the target language; this object itself if there is no tgt_lang.
  const Tokenizer& target() const override { return target_ ? *target_ : *this; }
  /// Token of the language whose texts this object encodes.
  std::optional<int64_t> language() const override { return language_; }
  /// Writes the files that load reads, with the languages chosen there.
  void save(const std::string& folder) const override;

 private:
  /// The tokenizer of one language.
  Fairseq(const LanguageKind& kind, std::shared_ptr<const SentencePieceModel> model,
          std::shared_ptr<const TokenTable> table, const TokenizerConfig& config, const std::string& language,
          const std::string& folder);

  std::unique_ptr<Fairseq> target_;
  std::optional<int64_t> language_;
};

}  // namespace tape::text
