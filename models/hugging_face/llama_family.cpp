#include "models/hugging_face/llama_family.h"

#include <algorithm>

#include "models/hugging_face/rotary.h"

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
  switch (kind) {
    case LlamaKind::mistral:
      return "MistralForCausalLM";
    case LlamaKind::qwen2:
      return "Qwen2ForCausalLM";
    case LlamaKind::qwen3:
      return "Qwen3ForCausalLM";
    default:
      return "LlamaForCausalLM";
  }
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

}  // namespace

LlamaConfig read_llama_family(const ConfigReader& config, LlamaConfig c) {
  refuse_other_computations(config);
  visit_llama_keys(c, ReadKeys{config});
  constexpr int64_t most = 65536;  // one name each is made for them before the file is compared with the names
  if (c.layers > most) config.wrong("num_hidden_layers", fmt::format("at most {}", most));
  if (c.padding_id && *c.padding_id < 0) *c.padding_id += c.vocab;  // counted from the end, as torch.nn.Embedding does
  c.rotary = read_rotary(config, c.max_length);
  if (c.rotary.fraction != 1)
    raise(ErrorKind::config, "{}: \"partial_rotary_factor\" must be 1, got {}", config.where(), c.rotary.fraction);
  return c;
}

void read_layer_windows(const ConfigReader& config, LlamaConfig& c) {
  c.window = 4096;
  ReadKeys{config}("sliding_window", c.window);
  if (!config.flag("use_sliding_window", false)) c.window.reset();
  const int64_t full = config.whole("max_window_layers", 28);
  std::vector<std::string> types = config.names("layer_types");
  for (int64_t i = 0; types.empty() && c.window && i < c.layers; ++i) c.window_layers.push_back(i >= full);
  for (const std::string& type : types) {
    if (type != kFull && type != kSliding) config.wrong("layer_types", "full_attention and sliding_attention");
    c.window_layers.push_back(type == kSliding);
  }
}

Json config_json(const LlamaConfig& c, DType dtype) {
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
    const std::string own = fmt::format("encoder.layers.{}.", i), their = fmt::format("model.layers.{}.", i);
    const auto linear = [&](const char* a, const char* b, int64_t in, int64_t out, bool bias) {
      layout.linear(fmt::format("{}{}", own, a), fmt::format("{}{}", their, b), in, out, bias);
    };
    const auto norm = [&](const char* a, const char* b, int64_t size) {
      layout.tensor(fmt::format("{}{}.weight", own, a), fmt::format("{}{}.weight", their, b), {size});
    };
    linear("self_attention.query", "self_attn.q_proj", width, queries, has_input_biases(c));
    linear("self_attention.key", "self_attn.k_proj", width, keys, has_input_biases(c));
    linear("self_attention.value", "self_attn.v_proj", width, keys, has_input_biases(c));
    linear("self_attention.output", "self_attn.o_proj", queries, width, c.attention_bias);
    if (c.kind == LlamaKind::qwen3) {
      norm("self_attention.query_norm", "self_attn.q_norm", *c.head_width);
      norm("self_attention.key_norm", "self_attn.k_norm", *c.head_width);
    }
    linear("feed_forward.gate", "mlp.gate_proj", width, c.d_ff, c.mlp_bias);
    linear("feed_forward.up", "mlp.up_proj", width, c.d_ff, c.mlp_bias);
    linear("feed_forward.down", "mlp.down_proj", c.d_ff, width, c.mlp_bias);
    norm("norm1", "input_layernorm", width);
    norm("norm2", "post_attention_layernorm", width);
  }
  layout.tensor("encoder.norm.weight", "model.norm.weight", {width});
  layout.ignore("rotary_emb.inv_freq");  // the frequencies, which older releases saved
  if (c.tie_output)
    layout.copy("lm_head.weight", "model.embed_tokens.weight");
  else
    layout.tensor("output.weight", "lm_head.weight", {c.vocab, width});
  return layout;
}

}  // namespace tape::models::hugging_face
