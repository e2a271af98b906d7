#include "models/hugging_face/qwen3.h"

#include "models/hugging_face/llama_family.h"

namespace tape::models::hugging_face {

LlamaConfig read_qwen3_config(const ConfigReader& config) {
  LlamaConfig c = read_llama_family(config, {.kind = LlamaKind::qwen3,
                                             .vocab = 151936,
                                             .kv_heads = 32,
                                             .head_width = 128,
                                             .d_ff = 22016,
                                             .max_length = 32768});
  c.attention_bias = config.flag("attention_bias", c.attention_bias);
  read_layer_windows(config, c);
  return c;
}

}  // namespace tape::models::hugging_face
