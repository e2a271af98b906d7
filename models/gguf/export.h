#pragma once

#include <string>

#include "../folders/folder.h"
#include "gguf.h"

namespace tape::models {

struct GgufExportOptions {
  /// Of matrices and tables; vectors stay F32. Where rows are no multiple of 32, Q8_0 and Q4_0 become F16.
  GgufType type = GgufType::F32;
  std::string name = {};  ///< "general.name"; the folder's where it is empty
};

/// Writes the model and the tokenizer of a folder as one file of llama.cpp and its kin: GPT-2 (architecture "gpt2"),
/// Llama and Mistral ("llama"), Qwen2 and Qwen3, with byte-level BPE or SentencePiece's tokens. Merged adapters are in
/// the weights (nn::merge_adapters). Error (config) for a model or a tokenizer that has no place there, naming it;
/// (io).
void export_gguf(const std::string& folder, const std::string& path, const GgufExportOptions& options = {});

}  // namespace tape::models
