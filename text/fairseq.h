#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mapped_sentence_piece.h"
#include "tokenizers/language_kind.h"

namespace tape::text {

/// The tokenizers of fairseq's models of many languages, equal to those of `transformers` that read
/// sentencepiece.bpe.model (before 5.0, M2M100's in 5.x too). tokenizer_class tells them apart:
///   XLMRobertaTokenizer   <s> text </s>, pairs <s> a </s> </s> b </s>           (Conneau et al. 2020)
///   MBartTokenizer        text </s> en_XX                                       (Liu et al. 2020)
///   MBart50Tokenizer      en_XX text </s>                                       (Tang et al. 2020)
///   NllbTokenizer         eng_Latn text </s>, with legacy_behaviour text </s> eng_Latn   (NLLB Team et al. 2022)
///   M2M100Tokenizer       __en__ text </s>                                      (Fan et al. 2021)
///
/// The ids of M2M100 are those of vocab.json. The others' are <s> 0, <pad> 1, </s> 2, <unk> 3, then those of the
/// model's pieces plus one, then the languages, and <mask>; where tokenizer_config.json gives ids
/// (added_tokens_decoder), those hold, and NLLB's languages must have theirs there.
///
/// This object encodes texts in src_lang of tokenizer_config.json (English where it is not given), target() those in
/// tgt_lang, unless others are asked for. The model's file is trusted input, see SentencePiece.
class Fairseq : public MappedSentencePiece {
 public:
  /// Whether a tokenizer_class, without "Fast" at its end, is one of those above.
  static bool knows(std::string_view tokenizer_class);
  /// Reads sentencepiece.bpe.model, tokenizer_config.json and, for M2M100, vocab.json of a folder. Error (format)
  /// naming file and entry for what is malformed, and for a language that the tokenizer does not have.
  static std::unique_ptr<Fairseq> load(const std::string& folder, const Languages& languages = {});

  /// Encodes texts of the target language; itself where tgt_lang is not given.
  const Tokenizer& target() const override { return target_ ? *target_ : *this; }
  std::optional<int64_t> language() const override { return language_; }
  bool language_begins() const override { return language_begins_; }
  /// Writes the files that load reads, with the languages that were asked for.
  void save(const std::string& folder) const override;

 private:
  /// The vocabulary of all but M2M100.
  static TokenTable::Entries aligned_vocabulary(const SentencePieceModel& model, const std::string& where);
  static std::shared_ptr<const TokenTable> table_of(const LanguageKind& kind, const SentencePieceModel& model,
                                                    const TokenizerConfig& config, const std::string& folder);

  /// One side.
  Fairseq(const LanguageKind& kind, std::shared_ptr<const SentencePieceModel> model,
          std::shared_ptr<const TokenTable> table, const TokenizerConfig& config, const std::string& language,
          const std::string& folder);
  void surround(const LanguageKind& kind, const std::string& language, const std::string& where);

  std::unique_ptr<Fairseq> target_;
  std::optional<int64_t> language_;
  bool language_begins_ = false;
};

}  // namespace tape::text
