#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "names.h"

namespace tape::models {

/// What ggml calls a token (enum llama_token_type).
enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

/// Adds a folder's tokenizer to the metadata as "tokenizer.ggml.*": byte-level BPE as model "gpt2" with the name of its
/// pre-tokenizer, SentencePiece's BPE (byte fallback) as model "llama", whose scores are the ranks of its merges. A
/// model with more rows than tokens gets "[PAD7]" for them. Error (config) naming the file and the part for a tokenizer
/// of another kind, and for one with more tokens than rows.
void append_tokenizer(GgufMetadata& metadata, const std::string& folder, int64_t vocab);

/// Writes tokenizer.json and tokenizer_config.json of a file's tokenizer, whatever tokenizer the folder held before; it
/// is made where it is missing. Merges that model "llama" may lack are those of its scores: every pair of tokens that
/// is a token, the largest score first. What a file does not say is llama.cpp's default for its model and pre-tokenizer
/// (start and end of texts, their ids, a space in front). Error (config) for a model or a pre-tokenizer that is not
/// known, (format) for lists of different lengths, tokens that are no UTF-8 or stand twice, and merges of no tokens.
void write_tokenizer(const GgufEntries& entries, const std::string& folder);

/// How llama.cpp (src/llama-vocab.cpp) splits the texts of a tokenizer of model "gpt2", by the name in
/// "tokenizer.ggml.pre".
struct GgufSplit {
  nlohmann::json pre_tokenizer;  ///< as tokenizer.json writes it; null for a name that is not known
  bool ignore_merges = false;    ///< a word that is a token stays whole
  bool add_bos = false;          ///< where the file does not say
  bool nfc = false;              ///< Qwen's models were trained on normalized texts, which no entry of the file says
};
GgufSplit gguf_split(const std::string& name);

/// The regular expression of a pre-tokenizer that is known by one alone: of "llama-bpe" and "qwen2"; "" of others.
std::string split_expression(const std::string& name);

}  // namespace tape::models
