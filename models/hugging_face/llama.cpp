#include "models/hugging_face/llama.h"

#include "models/hugging_face/llama_family.h"

namespace tape::models::hugging_face {

LlamaConfig read_llama_config(const ConfigReader& config) {
  LlamaConfig c = read_llama_family(config, {.kind = LlamaKind::llama, .bos_id = 1, .eos_ids = {2}});
  c.attention_bias = config.flag("attention_bias", c.attention_bias);
  c.mlp_bias = config.flag("mlp_bias", c.mlp_bias);
  return c;
}

}  // namespace tape::models::hugging_face
