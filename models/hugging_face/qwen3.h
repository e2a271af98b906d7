#pragma once

#include "../llama.h"
#include "common.h"

/// Qwen3ForCausalLM of transformers.
namespace tape::models::hugging_face {

LlamaConfig read_qwen3_config(const ConfigReader& config);

}  // namespace tape::models::hugging_face
