#pragma once

#include "../llama.h"
#include "common.h"

/// Qwen2ForCausalLM of transformers; Qwen1.5 and Qwen2.5 are too.
namespace tape::models::hugging_face {

LlamaConfig read_qwen2_config(const ConfigReader& config);

}  // namespace tape::models::hugging_face
