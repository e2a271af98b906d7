#include "models/decoders/llama.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "models/decoders/rotary_config.h"
#include "models/folders/config_keys.h"
#include "models/folders/family_of.h"

namespace tape::models {
namespace {

void check_kind_features(const LlamaConfig& c) {
  using enum LlamaKind;
  const auto only = [&](const char* what, bool has, std::initializer_list<LlamaKind> kinds) {
    if (has && std::find(kinds.begin(), kinds.end(), c.kind) == kinds.end())
      raise(ErrorKind::config, "Llama: kind {} has no {}", to_string(c.kind), what);
  };
  only("attention_bias", c.attention_bias, {llama, qwen3});
  only("mlp_bias", c.mlp_bias, {llama});
  only("window", c.window.has_value(), {mistral, qwen2, qwen3});
  only("window_layers", !c.window_layers.empty(), {qwen2, qwen3});
}

CausalLMOptions model_options(const LlamaConfig& c) {
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
  CausalLMOptions parts{.vocab = c.vocab,
                        .d_model = c.d_model,
                        .embeddings = {.max_length = 0, .norm_eps = {}, .dropout = 0, .padding_index = c.padding_id},
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
  constexpr const char* names[] = {"llama", "mistral", "qwen2", "qwen3"};
  return names[static_cast<size_t>(kind)];
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
  check_kind_features(c);
  if (!c.head_width && c.d_model % c.heads != 0)
    raise(ErrorKind::config, "Llama: d_model {} is not divisible by heads {}, and head_width is not set", c.d_model,
          c.heads);
  if (!c.head_width) c.head_width = c.d_model / c.heads;
  if (!c.kv_heads) c.kv_heads = c.heads;
  if (c.heads % *c.kv_heads != 0)
    raise(ErrorKind::config, "Llama: heads {} is not divisible by kv_heads {}", c.heads, *c.kv_heads);
  if (!c.window_layers.empty() && std::ssize(c.window_layers) != c.layers)
    raise(ErrorKind::config, "Llama: window_layers has {} entries for {} layers", c.window_layers.size(), c.layers);
  if (!c.window_layers.empty() && !c.window &&
      std::find(c.window_layers.begin(), c.window_layers.end(), true) != c.window_layers.end())
    raise(ErrorKind::config, "Llama: window_layers selects layers, but window is not set");
  if (c.padding_id && (*c.padding_id < 0 || *c.padding_id >= c.vocab))
    raise(ErrorKind::config, "Llama: padding_id must be from 0 to {}, got {}", c.vocab - 1, *c.padding_id);
  return c;
}

bool has_input_biases(const LlamaConfig& c) { return c.attention_bias || c.kind == LlamaKind::qwen2; }

bool has_window(const LlamaConfig& c, int64_t layer) {
  return c.window && (c.window_layers.empty() || c.window_layers[static_cast<size_t>(layer)]);
}

Llama::Llama(const LlamaConfig& c) : CausalLM(model_options(completed(c))), config_(completed(c)) {}

}  // namespace tape::models

namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

template <class Config, class Visit>
void visit_llama_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("hidden_size", c.d_model);
  visit("intermediate_size", c.d_ff);
  visit("num_hidden_layers", c.layers);
  visit("num_attention_heads", c.heads);
  visit("num_key_value_heads", c.kv_heads);
  visit("head_dim", c.head_width);
  visit("hidden_act", c.activation);
  visit("max_position_embeddings", c.max_length);
  visit("initializer_range", c.init_std);
  visit("rms_norm_eps", c.norm_eps);
  visit("attention_dropout", c.attention_dropout);
  visit("tie_word_embeddings", c.tie_output);
  visit("pad_token_id", c.padding_id);
  visit("bos_token_id", c.bos_id);
  visit("eos_token_id", c.eos_ids);
}

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

const char* class_of(LlamaKind kind) {
  constexpr const char* names[] = {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"};
  return names[static_cast<size_t>(kind)];
}

void write_layer_windows(Json& json, const LlamaConfig& c) {
  std::vector<std::string> types;
  for (int64_t i = 0; i < c.layers; ++i) types.emplace_back(has_window(c, i) ? kSliding : kFull);
  const auto first = std::find(types.begin(), types.end(), kSliding);
  json["use_sliding_window"] = c.window.has_value();
  json["sliding_window"] = c.window ? Json(*c.window) : Json();
  json["max_window_layers"] = first - types.begin();
  json["layer_types"] = types;
}

/// Reads the keys that are present over `c`, which has the defaults of its class in transformers. Throws Error (config)
/// naming a key that requests an unsupported computation.
LlamaConfig read_llama_family(const ConfigReader& config, LlamaConfig c) {
  check_supported_decoder(config);
  visit_llama_keys(c, ReadKeys{config});
  constexpr int64_t most = 65536;  // each layer adds names before the file is compared with them, so bound the count
  if (c.layers > most) config.wrong("num_hidden_layers", fmt::format("at most {}", most));
  if (c.padding_id && *c.padding_id < 0) *c.padding_id += c.vocab;  // counted from the end, as in torch.nn.Embedding
  c.rotary = read_rotary(config, c.max_length);
  if (c.rotary.fraction != 1)
    raise(ErrorKind::config, "{}: \"partial_rotary_factor\" must be 1, got {}", config.where(), c.rotary.fraction);
  return c;
}

/// Reads which layers have a sliding window, for Qwen2 and Qwen3.
void read_layer_windows(const ConfigReader& config, LlamaConfig& c) {
  c.window = 4096;
  ReadKeys{config}("sliding_window", c.window);
  if (!config.flag("use_sliding_window", false)) c.window.reset();
  const int64_t full = config.whole("max_window_layers", 28);
  std::vector<std::string> types = config.names("layer_types");
  for (int64_t i = 0; types.empty() && c.window && i < c.layers; ++i) c.window_layers.push_back(i >= full);
  for (const std::string& type : types) {
    if (type != kFull && type != kSliding) config.wrong("layer_types", "full_attention or sliding_attention");
    c.window_layers.push_back(type == kSliding);
  }
}

/// config.json of a completed configuration of any of the four classes.
Json llama_json(const LlamaConfig& c, DType dtype) {
  Json json = begin_config(class_of(c.kind), to_string(c.kind), dtype);
  visit_llama_keys(c, WriteKeys{json});
  write_rotary(json, c.rotary);
  if (c.kind == LlamaKind::llama || c.kind == LlamaKind::qwen3) json["attention_bias"] = c.attention_bias;
  if (c.kind == LlamaKind::llama) json["mlp_bias"] = c.mlp_bias;
  if (c.kind == LlamaKind::mistral) json["sliding_window"] = c.window ? Json(*c.window) : Json();
  if (c.kind == LlamaKind::qwen2 || c.kind == LlamaKind::qwen3) write_layer_windows(json, c);
  return json;
}

Layout llama_layout(const LlamaConfig& config) {
  const LlamaConfig c = completed(config);
  const int64_t width = c.d_model, queries = checked_multiply(c.heads, *c.head_width, "q_proj"),
                keys = checked_multiply(*c.kv_heads, *c.head_width, "k_proj");
  Layout layout;
  layout.tensor("embeddings.token.weight", "model.embed_tokens.weight", {c.vocab, width});
  for (int64_t i = 0; i < c.layers; ++i) {
    const Layout::Scope layer(layout, fmt::format("encoder.layers.{}.", i), fmt::format("model.layers.{}.", i));
    layout.linear("self_attention.query", "self_attn.q_proj", width, queries, has_input_biases(c));
    layout.linear("self_attention.key", "self_attn.k_proj", width, keys, has_input_biases(c));
    layout.linear("self_attention.value", "self_attn.v_proj", width, keys, has_input_biases(c));
    layout.linear("self_attention.output", "self_attn.o_proj", queries, width, c.attention_bias);
    if (c.kind == LlamaKind::qwen3) {
      layout.norm("self_attention.query_norm", "self_attn.q_norm", *c.head_width, false);
      layout.norm("self_attention.key_norm", "self_attn.k_norm", *c.head_width, false);
    }
    layout.linear("feed_forward.gate", "mlp.gate_proj", width, c.d_ff, c.mlp_bias);
    layout.linear("feed_forward.up", "mlp.up_proj", width, c.d_ff, c.mlp_bias);
    layout.linear("feed_forward.down", "mlp.down_proj", c.d_ff, width, c.mlp_bias);
    layout.norm("norm1", "input_layernorm", width, false);
    layout.norm("norm2", "post_attention_layernorm", width, false);
  }
  layout.norm("encoder.norm", "model.norm", width, false);
  layout.ignore("rotary_emb.inv_freq");  // the frequencies, which older versions saved
  if (c.tie_output)
    layout.copy("lm_head.weight", "model.embed_tokens.weight");
  else
    layout.tensor("output.weight", "lm_head.weight", {c.vocab, width});
  return layout;
}

LlamaConfig read_llama_config(const ConfigReader& config) {
  LlamaConfig c = read_llama_family(config, {.kind = LlamaKind::llama, .bos_id = 1, .eos_ids = {2}});
  c.attention_bias = config.flag("attention_bias", c.attention_bias);
  c.mlp_bias = config.flag("mlp_bias", c.mlp_bias);
  return c;
}

LlamaConfig read_mistral_config(const ConfigReader& config) {
  LlamaConfig c = read_llama_family(config, {.kind = LlamaKind::mistral,
                                             .kv_heads = 8,
                                             .d_ff = 14336,
                                             .max_length = 131072,
                                             .window = 4096,
                                             .bos_id = 1,
                                             .eos_ids = {2}});
  ReadKeys{config}("sliding_window", c.window);
  // All layers must agree: architectures whose layers differ have class names of their own.
  const char* all = c.window ? "sliding_attention" : "full_attention";
  for (const std::string& type : config.names("layer_types"))
    if (type != all) config.wrong("layer_types", fmt::format("\"{}\" for every layer", all));
  return c;
}

LlamaConfig read_qwen2_config(const ConfigReader& config) {
  LlamaConfig c = read_llama_family(
      config, {.kind = LlamaKind::qwen2, .vocab = 151936, .kv_heads = 32, .d_ff = 22016, .max_length = 32768});
  read_layer_windows(config, c);
  return c;
}

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

}  // namespace

const ModelFamily& llama_family() {
  static const auto& family =
      *new const FamilyOf<Llama>({.display_name = "a Llama (Llama, Mistral, Qwen2, Qwen3)",
                                  .classes = {{{"LlamaForCausalLM", "llama", "Llama"}, read_llama_config},
                                              {{"MistralForCausalLM", "mistral", "Mistral"}, read_mistral_config},
                                              {{"Qwen2ForCausalLM", "qwen2", "Qwen2"}, read_qwen2_config},
                                              {{"Qwen3ForCausalLM", "qwen3", "Qwen3"}, read_qwen3_config}},
                                  .prefix = "model.",
                                  .write = llama_json,
                                  .layout = llama_layout,
                                  .completed = completed});
  return family;
}

}  // namespace tape::models::hugging_face
