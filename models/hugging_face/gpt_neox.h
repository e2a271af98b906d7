#pragma once

#include "../gpt_neox.h"
#include "../layout.h"
#include "common.h"

/// GPTNeoXForCausalLM of transformers; Pythia is one too.
namespace tape::models::hugging_face {

GptNeoXConfig read_gpt_neox_config(const ConfigReader& config);
nlohmann::ordered_json config_json(const GptNeoXConfig& config, DType dtype);
inline nlohmann::ordered_json config_json(const GptNeoX& model, DType dtype) {
  return config_json(model.config(), dtype);
}
Layout gpt_neox_layout(const GptNeoXConfig& config);

/// The output's matrix is embed_out in files; in the memory of releases since 5, and so in some files, it is lm_head.
std::map<std::string, Tensor> with_embed_out(std::map<std::string, Tensor> tensors);

}  // namespace tape::models::hugging_face
