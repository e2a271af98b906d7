#include "models/decoders/gpt.h"

#include <fmt/format.h>

#include "base/check.h"
#include "models/folders/config_keys.h"
#include "models/folders/family_of.h"

namespace tape::models {
namespace {

GptConfig completed(GptConfig c) {
  check_at_least_one("Gpt", {{"vocab", c.vocab},
                             {"d_model", c.d_model},
                             {"layers", c.layers},
                             {"heads", c.heads},
                             {"max_length", c.max_length}});
  if (c.d_ff < 0) raise(ErrorKind::config, "Gpt: d_ff must not be negative, got {}", c.d_ff);
  if (c.d_ff == 0) c.d_ff = 4 * c.d_model;
  return c;
}

CausalLMOptions model_options(const GptConfig& c) {
  const nn::TransformerLayerOptions layer{.d_model = c.d_model,
                                          .heads = c.heads,
                                          .d_ff = c.d_ff,
                                          .dropout = c.dropout,
                                          .activation = c.activation,
                                          .norm = nn::NormPlace::pre,
                                          .norm_eps = c.norm_eps,
                                          .attention_dropout = c.attention_dropout,
                                          .activation_dropout = 0};
  return {.vocab = c.vocab,
          .d_model = c.d_model,
          .embeddings = {.max_length = c.max_length, .norm_eps = {}, .dropout = c.embedding_dropout},
          .layers = std::vector(static_cast<size_t>(c.layers), layer),
          .output = c.output,
          .tie_output = c.tie_output,
          .bos_id = c.bos_id,
          .eos_ids = c.eos_ids,
          .init_std = c.init_std};
}

}  // namespace

Gpt::Gpt(const GptConfig& c) : CausalLM(model_options(completed(c))), config_(completed(c)) {}

}  // namespace tape::models

namespace tape::models::hugging_face {

namespace {

template <class Config, class Visit>
void visit_gpt2_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("n_embd", c.d_model);
  visit("n_layer", c.layers);
  visit("n_head", c.heads);
  visit("n_inner", c.d_ff);
  visit("n_positions", c.max_length);
  visit("activation_function", c.activation);
  visit("resid_pdrop", c.dropout);
  visit("attn_pdrop", c.attention_dropout);
  visit("embd_pdrop", c.embedding_dropout);
  visit("layer_norm_epsilon", c.norm_eps);
  visit("initializer_range", c.init_std);
  visit("tie_word_embeddings", c.tie_output);
  visit("bos_token_id", c.bos_id);
  visit("eos_token_id", c.eos_ids);
  visit("pad_token_id", c.padding_id);
}

GptConfig read_gpt_config(const ConfigReader& given) {
  const ConfigReader config = given.renamed({{"hidden_size", "n_embd"},
                                             {"num_hidden_layers", "n_layer"},
                                             {"num_attention_heads", "n_head"},
                                             {"max_position_embeddings", "n_positions"}});
  check_supported_decoder(config);
  config.require_flag("scale_attn_weights", true, true);
  config.require_flag("scale_attn_by_inverse_layer_idx", false, false);
  GptConfig c;
  visit_gpt2_keys(c, ReadKeys{config});
  return c;
}

nlohmann::ordered_json gpt_json(const GptConfig& c, DType dtype) {
  if (c.output != nn::TokenOutput::logits)
    raise(ErrorKind::config, "config.json: GPT2LMHeadModel returns logits, not probabilities");
  nlohmann::ordered_json json = begin_config("GPT2LMHeadModel", "gpt2", dtype);
  visit_gpt2_keys(c, WriteKeys{json});
  return json;
}

Layout gpt_layout(const GptConfig& c) {
  Layout layout;
  const int64_t width = c.d_model, inner = c.d_ff > 0 ? c.d_ff : 4 * width;
  const std::string table = "transformer.wte.weight";
  layout.tensor("embeddings.token.weight", table, {c.vocab, width});
  layout.tensor("embeddings.position.weight", "transformer.wpe.weight", {c.max_length, width});
  for (int64_t i = 0; i < c.layers; ++i) {
    const Layout::Scope layer(layout, fmt::format("encoder.layers.{}.", i), fmt::format("transformer.h.{}.", i));
    layout.packed_columns({"self_attention.query", "self_attention.key", "self_attention.value"}, "attn.c_attn", width,
                          width);
    layout.packed_columns({"self_attention.output"}, "attn.c_proj", width, width);
    layout.packed_columns({"feed_forward.linear1"}, "mlp.c_fc", width, inner);
    layout.packed_columns({"feed_forward.linear2"}, "mlp.c_proj", inner, width);
    layout.norm("norm1", "ln_1", width);
    layout.norm("norm2", "ln_2", width);
    // The causal mask, which older versions saved.
    for (const char* old : {"attn.bias", "attn.masked_bias"}) layout.ignore(layout.file_scope() + old);
  }
  layout.norm("encoder.norm", "transformer.ln_f", width);
  if (c.tie_output)
    layout.copy("lm_head.weight", table);
  else
    layout.tensor("output.weight", "lm_head.weight", {c.vocab, width});
  return layout;
}

}  // namespace

const ModelFamily& gpt_family() {
  static const auto& family =
      *new const FamilyOf<Gpt>({.display_name = "a Gpt (GPT-2)",
                                .classes = {{{"GPT2LMHeadModel", "gpt2", "GPT-2"}, read_gpt_config}},
                                .prefix = "transformer.",
                                .write = gpt_json,
                                .layout = gpt_layout});
  return family;
}

}  // namespace tape::models::hugging_face
