#include "models/llama.h"

#include <algorithm>

#include "autograd/create.h"
#include "base/check.h"
#include "nn/gradcheck/check.h"

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
const nn::ModuleCheck mistral_check("Llama", "a sliding window", [](const nn::Checker& check) {
  LlamaConfig config = small_llama(LlamaKind::mistral);
  config.window = 2;
  Llama model(config);
  return check(model, {tensor({{1, 2, 4, 2}, {3, 1, 0, 1}}, i64)});
});
const nn::ModuleCheck qwen_check("Llama", "norms of query and key, heads of a width of their own, a window above",
                                 [](const nn::Checker& check) {
                                   LlamaConfig config = small_llama(LlamaKind::qwen3);
                                   config.head_width = 4;
                                   config.window = 2;
                                   config.window_layers = {false, true};
                                   Llama model(config);
                                   return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
                                 });

void refuse_what_the_kind_lacks(const LlamaConfig& c) {
  using enum LlamaKind;
  const auto only = [&](const char* what, bool has, std::initializer_list<LlamaKind> kinds) {
    if (has && std::find(kinds.begin(), kinds.end(), c.kind) == kinds.end())
      raise(ErrorKind::config, "Llama: {} is not of the kind {}", what, to_string(c.kind));
  };
  only("attention_bias", c.attention_bias, {llama, qwen3});
  only("mlp_bias", c.mlp_bias, {llama});
  only("window", c.window.has_value(), {mistral, qwen2, qwen3});
  only("window_layers", !c.window_layers.empty(), {qwen2, qwen3});
}

CausalLMOptions parts_of(const LlamaConfig& c) {
  const nn::TransformerLayerOptions layer{.d_model = c.d_model,
                                          .heads = c.heads,
                                          .d_ff = c.d_ff,
                                          .dropout = 0,
                                          .activation = c.activation,
                                          .norm = nn::NormPlace::pre,
                                          .norm_eps = c.norm_eps,
                                          .attention_dropout = c.attention_dropout,
                                          .norm_kind = nn::NormKind::rms_norm,
                                          .feed_forward = nn::FeedForwardKind::gated,
                                          .bias = c.mlp_bias,
                                          .kv_heads = *c.kv_heads,
                                          .rotary = c.rotary,
                                          .attention_bias = has_input_biases(c),
                                          .attention_output_bias = c.attention_bias,
                                          .head_width = *c.head_width,
                                          .query_key_norm = c.kind == LlamaKind::qwen3};
  CausalLMOptions parts{.embeddings = {.vocab = c.vocab,
                                       .d_model = c.d_model,
                                       .max_length = 0,
                                       .norm_eps = {},
                                       .dropout = 0,
                                       .padding_index = c.padding_id},
                        .layers = std::vector(static_cast<size_t>(c.layers), layer),
                        .tie_output = c.tie_output,
                        .bos_id = c.bos_id,
                        .eos_ids = c.eos_ids,
                        .init_std = c.init_std};
  for (int64_t i = 0; i < c.layers; ++i)
    if (has_window(c, i)) parts.layers[static_cast<size_t>(i)].window = nn::AttentionWindow::sliding(*c.window);
  return parts;
}

}  // namespace

std::string_view to_string(LlamaKind kind) {
  switch (kind) {
    case LlamaKind::mistral:
      return "mistral";
    case LlamaKind::qwen2:
      return "qwen2";
    case LlamaKind::qwen3:
      return "qwen3";
    default:
      return "llama";
  }
}

LlamaConfig completed(LlamaConfig c) {
  check_at_least_one("Llama", {{"vocab", c.vocab},
                               {"d_model", c.d_model},
                               {"layers", c.layers},
                               {"heads", c.heads},
                               {"d_ff", c.d_ff},
                               {"max_length", c.max_length},
                               {"kv_heads", c.kv_heads.value_or(1)},
                               {"head_width", c.head_width.value_or(1)},
                               {"window", c.window.value_or(1)}});
  refuse_what_the_kind_lacks(c);
  if (!c.head_width && c.d_model % c.heads != 0)
    raise(ErrorKind::config, "Llama: d_model {} is not divisible by heads {}, and there is no head_width", c.d_model,
          c.heads);
  if (!c.head_width) c.head_width = c.d_model / c.heads;
  if (!c.kv_heads) c.kv_heads = c.heads;
  if (c.heads % *c.kv_heads != 0)
    raise(ErrorKind::config, "Llama: heads {} is not divisible by kv_heads {}", c.heads, *c.kv_heads);
  if (!c.window_layers.empty() && std::ssize(c.window_layers) != c.layers)
    raise(ErrorKind::config, "Llama: window_layers says something of {} layers, and there are {}",
          c.window_layers.size(), c.layers);
  if (!c.window_layers.empty() && !c.window &&
      std::find(c.window_layers.begin(), c.window_layers.end(), true) != c.window_layers.end())
    raise(ErrorKind::config, "Llama: window_layers names layers with a window, and there is no window");
  if (c.padding_id && (*c.padding_id < 0 || *c.padding_id >= c.vocab))
    raise(ErrorKind::config, "Llama: padding_id must be from 0 to {}, got {}", c.vocab - 1, *c.padding_id);
  return c;
}

bool has_input_biases(const LlamaConfig& c) { return c.attention_bias || c.kind == LlamaKind::qwen2; }

bool has_window(const LlamaConfig& c, int64_t layer) {
  return c.window && (c.window_layers.empty() || c.window_layers[static_cast<size_t>(layer)]);
}

Llama::Llama(const LlamaConfig& c) : CausalLM(parts_of(completed(c))), config_(completed(c)) {}

}  // namespace tape::models
