#pragma once

#include <memory>
#include <string>

#include "language_pipeline.h"

namespace tape::text {

struct PieceKind;

/// The tokenizer of a SentencePiece model as in `transformers` 5.23, by the tokenizer_class of tokenizer_config.json:
///
///     LlamaTokenizer       a text, with bos and eos if add_bos_token and add_eos_token are set (default: neither)
///     T5Tokenizer          text </s>, pairs a </s> b </s>, and 100 sentinels (extra_ids)       (Raffel et al. 2020)
///     XLMRobertaTokenizer  <s> text </s>, pairs <s> a </s> </s> b </s>                         (Conneau et al. 2020)
///     CamembertTokenizer   the same, with its own ids                                          (Martin et al. 2020)
///     MBartTokenizer       text </s> en_XX                                                     (Liu et al. 2020)
///     MBart50Tokenizer     en_XX text </s>                                                     (Tang et al. 2020)
///     NllbTokenizer        eng_Latn text </s>, with legacy_behaviour text </s> eng_Latn        (NLLB Team et al. 2022)
///
/// Since 5.0 these classes split with the `tokenizers` package, not with the sentencepiece library, for which see
/// SentencePiece. Special and added tokens are matched in the text first.
class PieceTokenizer : public LanguagePipeline {
 public:
  /// Whether a tokenizer_class, with or without its "Fast" suffix, is one of those above.
  static bool knows(std::string_view tokenizer_class);
  /// Reads `file`, a SentencePiece model of a folder, as `tokenizer_class`, and the folder's configuration. Throws
  /// Error (format) with file and entry for malformed content, and for an unknown language.
  static std::unique_ptr<PieceTokenizer> load(const std::string& folder, const std::string& file,
                                              const std::string& tokenizer_class, const Languages& languages = {});

  /// Writes the files that load reads, with the languages chosen there.
  void save(const std::string& folder) const override;

 private:
  PieceTokenizer(const PieceKind& kind, TokenizerConfig config, std::string bytes, const std::string& folder,
                 const std::string& file);
  void make_template(const PieceKind& kind, const std::string& where);

  const PieceKind& kind_;
  std::string bytes_;
};

}  // namespace tape::text
