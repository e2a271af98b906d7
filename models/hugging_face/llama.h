#pragma once

#include "../llama.h"
#include "common.h"

/// LlamaForCausalLM of transformers; SmolLM2 is one too.
namespace tape::models::hugging_face {

LlamaConfig read_llama_config(const ConfigReader& config);

}  // namespace tape::models::hugging_face
