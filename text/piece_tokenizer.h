#pragma once

#include <memory>
#include <string>

#include "language_pipeline.h"

namespace tape::text {

struct PieceKind;

/// The tokenizer of a SentencePiece model as `transformers` 5.23 reads it, by the tokenizer_class of
/// tokenizer_config.json:
///   LlamaTokenizer       a text between the tokens that add_bos_token and add_eos_token ask for (neither by default)
///   T5Tokenizer          text </s>, pairs a </s> b </s>, and 100 sentinels (extra_ids)       (Raffel et al. 2020)
///   XLMRobertaTokenizer  <s> text </s>, pairs <s> a </s> </s> b </s>                         (Conneau et al. 2020)
///   CamembertTokenizer   the same, with its own ids                                          (Martin et al. 2020)
///   MBartTokenizer       text </s> en_XX                                                     (Liu et al. 2020)
///   MBart50Tokenizer     en_XX text </s>                                                     (Tang et al. 2020)
///   NllbTokenizer        eng_Latn text </s>, with legacy_behaviour text </s> eng_Latn        (NLLB Team et al. 2022)
/// Since 5.0 these classes split with the package `tokenizers`, not with the library sentencepiece; see SentencePiece
/// for that. Special tokens and those added are cut out of a text first.
class PieceTokenizer : public LanguagePipeline {
 public:
  /// Whether a tokenizer_class is one of those above, with or without "Fast" at its end.
  static bool knows(std::string_view tokenizer_class);
  /// Reads `file`, a SentencePiece model of a folder, as `tokenizer_class`, and the folder's configuration. Error
  /// (format) naming file and entry for what is malformed, and for a language that the tokenizer does not have.
  static std::unique_ptr<PieceTokenizer> load(const std::string& folder, const std::string& file,
                                              const std::string& tokenizer_class, const Languages& languages = {});

  /// Writes the files that load reads, with the languages that were asked for.
  void save(const std::string& folder) const override;

 private:
  PieceTokenizer(const PieceKind& kind, TokenizerConfig config, std::string bytes, const std::string& folder,
                 const std::string& file);
  void surround(const PieceKind& kind, const std::string& where);

  const PieceKind& kind_;
  std::string bytes_;
};

}  // namespace tape::text
