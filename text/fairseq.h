#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mapped_sentence_piece.h"
#include "tokenizers/language_kind.h"

namespace tape::text {

/// The tokenizer of M2M-100 (Fan et al. 2021), __en__ text </s>, equal to `transformers`' M2M100Tokenizer: the library
/// sentencepiece splits, and vocab.json gives the ids. The languages follow, or have the ids that added_tokens_decoder
/// of tokenizer_config.json gives. (Others of fairseq's models: PieceTokenizer.)
///
/// This object encodes texts in src_lang of tokenizer_config.json (English where it is not given), target() those in
/// tgt_lang, unless others are asked for. The model's file is trusted input, see SentencePiece.
class Fairseq : public MappedSentencePiece {
 public:
  /// Whether a tokenizer_class, without "Fast" at its end, is that one.
  static bool knows(std::string_view tokenizer_class);
  /// Reads sentencepiece.bpe.model, vocab.json and tokenizer_config.json of a folder. Error (format) naming file and
  /// entry for what is malformed, and for a language that the tokenizer does not have.
  static std::unique_ptr<Fairseq> load(const std::string& folder, const Languages& languages = {});

  /// Encodes texts of the target language; itself where tgt_lang is not given.
  const Tokenizer& target() const override { return target_ ? *target_ : *this; }
  std::optional<int64_t> language() const override { return language_; }
  /// Writes the files that load reads, with the languages that were asked for.
  void save(const std::string& folder) const override;

 private:
  /// One side.
  Fairseq(const LanguageKind& kind, std::shared_ptr<const SentencePieceModel> model,
          std::shared_ptr<const TokenTable> table, const TokenizerConfig& config, const std::string& language,
          const std::string& folder);

  std::unique_ptr<Fairseq> target_;
  std::optional<int64_t> language_;
};

}  // namespace tape::text
