#pragma once

#include <string>

#include "../folders/folder.h"
#include "gguf.h"

namespace tape::models {

/// Options of export_gguf().
struct GgufExportOptions {
  /// Of matrices and tables; vectors stay F32. If rows are not a multiple of 32, Q8_0 and Q4_0 become F16.
  GgufType type = GgufType::F32;
  std::string name = {};  ///< "general.name"; default: the folder's
};

/// Writes a folder's model and tokenizer as one file for llama.cpp and compatible tools: GPT-2 (architecture "gpt2"),
/// Llama and Mistral ("llama"), Qwen2 and Qwen3, with a byte-level BPE or SentencePiece tokenizer. The weights include
/// merged adapters (nn::merge_adapters). Throws Error (config) naming a model or tokenizer that GGUF cannot represent;
/// (io).
void export_gguf(const std::string& folder, const std::string& path, const GgufExportOptions& options = {});

}  // namespace tape::models
