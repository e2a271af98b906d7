#pragma once

#include <string>

#include "../folders/folder.h"

namespace tape::models {

/// Loads the model of a llama.cpp file: architectures "gpt2", "llama" (Llama and Mistral), "qwen2" and "qwen3", of F32,
/// F16, BF16, Q8_0 and Q4_0, which become f32; in evaluation mode. For Llama 3's rotary scaling the file has only the
/// divisors of the frequencies, from which a scaling that gives them is recovered. Every Error names the file: (config)
/// for another architecture, and for a key or tensor that requests an unsupported computation; (format) for missing or
/// mismatched parts; (dtype) and (io) as in load_gguf().
AnyModel load_gguf_model(const std::string& path);

/// Writes that model and its tokenizer as a transformers folder for training: config.json, model.safetensors,
/// tokenizer.json. Values that export_gguf() wrote as F32 are restored exactly. Throws the errors of load_gguf_model(),
/// and Error (config) for a tokenizer that is neither a byte-level BPE of a known name nor a SentencePiece BPE.
void import_gguf(const std::string& path, const std::string& folder);

}  // namespace tape::models
