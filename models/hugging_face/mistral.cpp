#include "models/hugging_face/mistral.h"

#include "models/hugging_face/llama_family.h"

namespace tape::models::hugging_face {

LlamaConfig read_mistral_config(const ConfigReader& config) {
  LlamaConfig c = read_llama_family(config, {.kind = LlamaKind::mistral,
                                             .kv_heads = 8,
                                             .d_ff = 14336,
                                             .max_length = 131072,
                                             .window = 4096,
                                             .bos_id = 1,
                                             .eos_ids = {2}});
  ReadKeys{config}("sliding_window", c.window);
  // One and the same in all layers: classes that change from layer to layer have names of their own.
  const char* all = c.window ? "sliding_attention" : "full_attention";
  for (const std::string& type : config.names("layer_types"))
    if (type != all) config.wrong("layer_types", fmt::format("\"{}\" of every layer", all));
  return c;
}

}  // namespace tape::models::hugging_face
