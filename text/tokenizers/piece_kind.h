#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config.h"
#include "decoder.h"
#include "normalizer.h"
#include "pre_tokenizer.h"
#include "sentence_piece_check.h"
#include "word_models.h"

namespace tape::text {

/// What a tokenizer class of `transformers` 5 makes of a SentencePiece model: steps of the package `tokenizers` instead
/// of the library sentencepiece, which differ from it (white space, unknown characters, normalization).
struct PieceParts {
  TokenTable::Entries vocabulary = {};  ///< without the tokens that are added
  bool is_bpe = false;
  BpeModelOptions bpe = {};  ///< and of a unigram model
  UnigramModelOptions unigram = {};
  std::vector<double> scores = {};
  Normalizer normalizer = {};
  PreTokenizer pre_tokenizer = {};
  Decoder decoder = {};
};

/// What stands around a text.
enum class PieceTemplate {
  flags,      ///< start and end as add_bos_token and add_eos_token say
  end,        ///< a </s>, pairs a </s> b </s>
  both,       ///< <s> a </s>, pairs <s> a </s> </s> b </s>
  languages,  ///< as the class of a LanguageKind has it
};

struct PieceKind {
  std::string_view tokenizer_class;
  PieceTemplate around;
  const char* file;  ///< the model's name when it is saved
  PieceParts (*parts)(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where);
};

/// That of a tokenizer_class, with or without "Fast" at its end; null for others.
const PieceKind* piece_kind_of(std::string_view tokenizer_class);

/// Adds to a configuration the special tokens that the model's file has (control and user-defined symbols) and that the
/// class adds (sentinels, languages) where tokenizer_config.json lists none. Error (format) for extra_ids out of
/// range.
void complete_special_tokens(TokenizerConfig& config, const PieceKind& kind, const SentencePieceTable& model,
                             const std::string& where);

}  // namespace tape::text
