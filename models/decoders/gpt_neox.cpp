#include "models/decoders/gpt_neox.h"

#include <fmt/format.h>

#include "base/check.h"
#include "models/decoders/rotary_config.h"
#include "models/folders/config_keys.h"
#include "models/folders/family_of.h"

namespace tape::models {
namespace {

CausalLMOptions model_options(const GptNeoXConfig& c) {
  check(c);
  const nn::TransformerLayerOptions layer{
      .d_model = c.d_model,
      .heads = c.heads,
      .d_ff = c.d_ff,
      .dropout = c.dropout,
      .activation = c.activation,
      .norm = nn::NormPlace::pre,
      .norm_eps = c.norm_eps,
      .attention_dropout = c.attention_dropout,
      .activation_dropout = 0,
      .rotary = c.rotary,
      .attention_bias = c.attention_bias,
      .attention_output_bias = c.attention_bias,
      .residual = c.parallel ? nn::ResidualKind::parallel : nn::ResidualKind::sequential};
  return {.vocab = c.vocab,
          .d_model = c.d_model,
          .embeddings = {.max_length = 0, .norm_eps = {}, .dropout = c.dropout},
          .layers = std::vector(static_cast<size_t>(c.layers), layer),
          .tie_output = c.tie_output,
          .bos_id = c.bos_id,
          .eos_ids = c.eos_ids,
          .init_std = c.init_std};
}

}  // namespace

void check(const GptNeoXConfig& c) {
  check_at_least_one("GptNeoX", {{"vocab", c.vocab},
                                 {"d_model", c.d_model},
                                 {"layers", c.layers},
                                 {"heads", c.heads},
                                 {"d_ff", c.d_ff},
                                 {"max_length", c.max_length}});
  if (c.d_model % c.heads != 0)
    raise(ErrorKind::config, "GptNeoX: d_model {} is not divisible by heads {}", c.d_model, c.heads);
}

GptNeoX::GptNeoX(const GptNeoXConfig& c) : CausalLM(model_options(c)), config_(c) {}

}  // namespace tape::models

namespace tape::models::hugging_face {
namespace {

constexpr RotaryKeys kRotaryKeys{.theta = "rotary_emb_base", .fraction = "rotary_pct", .default_fraction = 0.25};
constexpr const char* kOutputModule = "embed_out";
constexpr const char* kOutput = "embed_out.weight";
constexpr const char* kMemoryOutputModule = "lm_head";  // since transformers 5

template <class Config, class Visit>
void visit_gpt_neox_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("hidden_size", c.d_model);
  visit("num_hidden_layers", c.layers);
  visit("num_attention_heads", c.heads);
  visit("intermediate_size", c.d_ff);
  visit("hidden_act", c.activation);
  visit("max_position_embeddings", c.max_length);
  visit("use_parallel_residual", c.parallel);
  visit("attention_bias", c.attention_bias);
  visit("hidden_dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("layer_norm_eps", c.norm_eps);
  visit("initializer_range", c.init_std);
  visit("tie_word_embeddings", c.tie_output);
  visit("bos_token_id", c.bos_id);
  visit("eos_token_id", c.eos_ids);
  visit("pad_token_id", c.padding_id);
}

GptNeoXConfig read_gpt_neox_config(const ConfigReader& config) {
  check_supported_decoder(config);
  GptNeoXConfig c{.bos_id = 0, .eos_ids = {2}};
  visit_gpt_neox_keys(c, ReadKeys{config});
  c.rotary = read_rotary(config, c.max_length, kRotaryKeys);
  return c;
}

nlohmann::ordered_json gpt_neox_json(const GptNeoXConfig& c, DType dtype) {
  nlohmann::ordered_json json = begin_config("GPTNeoXForCausalLM", "gpt_neox", dtype);
  visit_gpt_neox_keys(c, WriteKeys{json});
  write_rotary(json, c.rotary, kRotaryKeys);
  return json;
}

Layout gpt_neox_layout(const GptNeoXConfig& c) {
  check(c);
  Layout layout;
  const int64_t width = c.d_model;
  layout.tensor("embeddings.token.weight", "gpt_neox.embed_in.weight", {c.vocab, width});
  for (int64_t i = 0; i < c.layers; ++i) {
    const Layout::Scope layer(layout, fmt::format("encoder.layers.{}.", i), fmt::format("gpt_neox.layers.{}.", i));
    layout.packed_by_head({"self_attention.query", "self_attention.key", "self_attention.value"},
                          "attention.query_key_value", width, width, c.heads, c.attention_bias);
    layout.linear("self_attention.output", "attention.dense", width, width, c.attention_bias);
    layout.linear("feed_forward.linear1", "mlp.dense_h_to_4h", width, c.d_ff);
    layout.linear("feed_forward.linear2", "mlp.dense_4h_to_h", c.d_ff, width);
    layout.norm("norm1", "input_layernorm", width);
    layout.norm("norm2", "post_attention_layernorm", width);
    // The causal mask and the frequencies, which older versions saved.
    for (const char* old : {"attention.bias", "attention.masked_bias", "attention.rotary_emb.inv_freq"})
      layout.ignore(layout.file_scope() + old);
  }
  layout.norm("encoder.norm", "gpt_neox.final_layer_norm", width);
  if (c.tie_output)
    layout.copy(kOutput, "gpt_neox.embed_in.weight");
  else
    layout.tensor("output.weight", kOutput, {c.vocab, width});
  layout.name_in_memory(kOutputModule, kMemoryOutputModule);
  return layout;
}

/// Some files have the output matrix under its name in memory.
std::map<std::string, Tensor> with_embed_out(std::map<std::string, Tensor> tensors) {
  if (tensors.contains(kOutput)) return tensors;  // if both are present, the other is reported as unexpected
  if (auto named = tensors.extract(fmt::format("{}.weight", kMemoryOutputModule)); !named.empty()) {
    named.key() = kOutput;
    tensors.insert(std::move(named));
  }
  return tensors;
}

}  // namespace

const ModelFamily& gpt_neox_family() {
  static const auto& family = *new const FamilyOf<GptNeoX>(
      {.display_name = "a GptNeoX (GPT-NeoX, Pythia)",
       .classes = {{{"GPTNeoXForCausalLM", "gpt_neox", "GPT-NeoX"}, read_gpt_neox_config}},
       .prefix = "gpt_neox.",
       .write = gpt_neox_json,
       .layout = gpt_neox_layout,
       .completed =
           [](GptNeoXConfig c) {
             check(c);
             return c;
           },
       .fit = [](GptNeoXConfig&, Weights& weights) { weights.tensors = with_embed_out(std::move(weights.tensors)); }});
  return family;
}

}  // namespace tape::models::hugging_face
