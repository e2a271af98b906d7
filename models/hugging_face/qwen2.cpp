#include "models/hugging_face/qwen2.h"

#include "models/hugging_face/llama_family.h"

namespace tape::models::hugging_face {

LlamaConfig read_qwen2_config(const ConfigReader& config) {
  LlamaConfig c = read_llama_family(
      config, {.kind = LlamaKind::qwen2, .vocab = 151936, .kv_heads = 32, .d_ff = 22016, .max_length = 32768});
  read_layer_windows(config, c);
  return c;
}

}  // namespace tape::models::hugging_face
