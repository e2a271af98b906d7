#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "names.h"

namespace tape::models {

/// ggml's token types (enum llama_token_type).
enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

/// Adds a folder's tokenizer to the metadata as "tokenizer.ggml.*": byte-level BPE as model "gpt2" with the name of its
/// pre-tokenizer, SentencePiece BPE (byte fallback) as model "llama", with the ranks of its merges as scores. Rows of
/// the model without a token get names like "[PAD7]". Throws Error (config) naming the file and the part for a
/// tokenizer of another kind, or one with more tokens than the model has rows.
void append_tokenizer(GgufMetadata& metadata, const std::string& folder, int64_t vocab);

/// Writes tokenizer.json and tokenizer_config.json of a file's tokenizer, replacing any in the folder, which is created
/// if missing. Missing merges of model "llama" are derived from its scores: every pair of tokens that forms a token,
/// highest score first. Missing settings (start and end of texts, their ids, a leading space) are llama.cpp's defaults
/// for the model and pre-tokenizer. Throws Error (config) for an unknown model or pre-tokenizer; (format) for lists of
/// different lengths, tokens that are not UTF-8 or appear twice, and merges of unknown tokens.
void write_tokenizer(const GgufEntries& entries, const std::string& folder);

/// How llama.cpp (src/llama-vocab.cpp) splits texts for a tokenizer of model "gpt2", by "tokenizer.ggml.pre".
struct GgufPreTokenizer {
  nlohmann::json pre_tokenizer;  ///< in the form of tokenizer.json; null for an unknown name
  bool ignore_merges = false;    ///< whether a word that is a token is never split
  bool add_bos = false;          ///< default if the file does not set it
  bool nfc = false;              ///< whether to normalize, as Qwen's models expect; no metadata entry records it
};
GgufPreTokenizer gguf_pre_tokenizer(const std::string& name);

/// The regular expression of "llama-bpe" and "qwen2", pre-tokenizers with a single one; "" for others.
std::string split_expression(const std::string& name);

}  // namespace tape::models
