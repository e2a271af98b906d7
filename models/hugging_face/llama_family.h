#pragma once

#include "../layout.h"
#include "../llama.h"
#include "common.h"

/// What the folders of Llama, Mistral, Qwen2 and Qwen3 have in common; llama.h, mistral.h, qwen2.h and qwen3.h say
/// wherein they differ.
namespace tape::models::hugging_face {

/// Takes the values that are there over the configuration's own, which are those of its class in transformers. Error
/// (config) naming a key that asks for what is not computed here.
LlamaConfig read_llama_family(const ConfigReader& config, LlamaConfig defaults);
/// What of the layers looks through a window, of Qwen2 and Qwen3.
void read_layer_windows(const ConfigReader& config, LlamaConfig& c);

/// config.json of a completed configuration of any of the classes.
nlohmann::ordered_json config_json(const LlamaConfig& config, DType dtype);
inline nlohmann::ordered_json config_json(const Llama& model, DType dtype) {
  return config_json(model.config(), dtype);
}
Layout llama_layout(const LlamaConfig& config);

}  // namespace tape::models::hugging_face
