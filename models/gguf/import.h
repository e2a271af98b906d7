#pragma once

#include <string>

#include "../folders/folder.h"

namespace tape::models {

/// The model of a file of llama.cpp and its kin: architectures "gpt2", "llama" (Llama and Mistral), "qwen2" and
/// "qwen3", of F32, F16, BF16, Q8_0 and Q4_0, which become f32; in evaluation mode. Of Llama 3's scaled rotation the
/// file has the quotients of frequencies alone: that scaling is found again which gives them. Every Error names the
/// file: (config) for another architecture, and for a key or a tensor that asks for what is not computed here; (format)
/// for what is missing or does not fit; (dtype) and (io) as load_gguf().
AnyModel load_gguf_model(const std::string& path);

/// Writes that model and its tokenizer as a folder of transformers, to be trained on: config.json, model.safetensors,
/// tokenizer.json. What export_gguf() wrote as F32 has the same bits again. Errors as load_gguf_model(), and for a
/// tokenizer that is no byte-level BPE of a known name and no SentencePiece BPE.
void import_gguf(const std::string& path, const std::string& folder);

}  // namespace tape::models
