#pragma once

#include "../llama.h"
#include "common.h"

/// MistralForCausalLM of transformers.
namespace tape::models::hugging_face {

LlamaConfig read_mistral_config(const ConfigReader& config);

}  // namespace tape::models::hugging_face
