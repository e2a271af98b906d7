#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tape::models {

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
