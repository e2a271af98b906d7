#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../steps/decoder.h"
#include "../steps/normalizer.h"
#include "../steps/pre_tokenizer.h"
#include "../steps/sentence_piece_check.h"
#include "../steps/word_models.h"
#include "config.h"

namespace tape::text {

/// Parts that a `transformers` 5 tokenizer class derives from a SentencePiece model: steps of the `tokenizers` package,
/// which differ from the sentencepiece library (white space, unknown characters, normalization).
struct PieceParts {
  TokenTable::Entries vocabulary = {};  ///< without added tokens
  bool is_bpe = false;
  BpeModelOptions bpe = {};  ///< used if is_bpe; otherwise `unigram`
  UnigramModelOptions unigram = {};
  std::vector<double> scores = {};
  Normalizer normalizer = {};
  PreTokenizer pre_tokenizer = {};
  Decoder decoder = {};
};

/// Template of special tokens around texts.
enum class PieceTemplate {
  flags,      ///< start and end tokens by add_bos_token and add_eos_token
  end,        ///< a </s>, pairs a </s> b </s>
  both,       ///< <s> a </s>, pairs <s> a </s> </s> b </s>
  languages,  ///< as in LanguageKind
};

struct PieceKind {
  std::string_view tokenizer_class;
  PieceTemplate around;
  const char* file;  ///< name under which the model is saved
  PieceParts (*parts)(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where);
};

/// The entry for a tokenizer_class, with or without "Fast"; null for others.
const PieceKind* piece_kind_of(std::string_view tokenizer_class);

/// If tokenizer_config.json does not list special tokens, adds those of the model file (control and user-defined
/// symbols) and of the class (sentinels, languages). Throws Error (format) for extra_ids out of range.
void complete_special_tokens(TokenizerConfig& config, const PieceKind& kind, const SentencePieceTable& model,
                             const std::string& where);

}  // namespace tape::text
