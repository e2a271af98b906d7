#include "models/decoders/llama.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"
#include "tests/samples/models/small_models.h"

namespace tape::models {
namespace {

LlamaConfig small_llama(LlamaKind kind) {
  return {.kind = kind, .vocab = 5, .d_model = 4, .layers = 2, .heads = 2, .kv_heads = 1, .d_ff = 5, .init_std = 0.5};
}

const nn::ModuleCheck llama_check("Llama", "biases, tied", [](const nn::Checker& check) {
  LlamaConfig config = small_llama(LlamaKind::llama);
  config.attention_bias = config.mlp_bias = config.tie_output = true;
  Llama model(config);
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

const nn::ModuleCheck mistral_check("Llama", "sliding window", [](const nn::Checker& check) {
  LlamaConfig config = small_llama(LlamaKind::mistral);
  config.window = 2;
  Llama model(config);
  return check(model, {tensor({{1, 2, 4, 2}, {3, 1, 0, 1}}, i64)});
});

const nn::ModuleCheck qwen_check("Llama", "query and key norms, explicit head width, window in upper layers",
                                 [](const nn::Checker& check) {
                                   LlamaConfig config = small_llama(LlamaKind::qwen3);
                                   config.head_width = 4;
                                   config.window = 2;
                                   config.window_layers = {false, true};
                                   Llama model(config);
                                   return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
                                 });

const SmallModels small_llamas([] {
  return made_of<Llama>({small_llama(LlamaKind::llama), small_llama(LlamaKind::mistral), small_llama(LlamaKind::qwen2),
                         small_llama(LlamaKind::qwen3)});
});

}  // namespace
}  // namespace tape::models
