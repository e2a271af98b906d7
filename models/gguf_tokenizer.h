#pragma once

#include <cstdint>
#include <string>

#include "../autograd/io/gguf.h"

namespace tape::models {

/// Adds a folder's tokenizer to the metadata as "tokenizer.ggml.*": byte-level BPE as model "gpt2" with the name of its
/// pre-tokenizer, SentencePiece's BPE (byte fallback) as model "llama", whose scores are the ranks of its merges. A
/// model with more rows than tokens gets "[PAD7]" for them. Error (config) naming the file and the part for a tokenizer
/// of another kind.
void append_tokenizer(GgufMetadata& metadata, const std::string& folder, int64_t vocab);

}  // namespace tape::models
