#include "models/hugging_face/gpt2.h"

namespace tape::models::hugging_face {

GptConfig read_gpt_config(const ConfigReader& config) {
  const GptConfig base;
  config.require_flag("scale_attn_weights", true, true);
  config.require_flag("scale_attn_by_inverse_layer_idx", false, false);
  config.require_flag("add_cross_attention", false, false);
  GptConfig c{.vocab = config.whole("vocab_size", base.vocab),
              .d_model = config.whole("n_embd", base.d_model),
              .layers = config.whole("n_layer", base.layers),
              .heads = config.whole("n_head", base.heads),
              .d_ff = config.whole("n_inner", 0),
              .max_length = config.whole("n_positions", base.max_length),
              .activation = read_activation(config, "activation_function", "gelu_new"),
              .dropout = config.number("resid_pdrop", base.dropout),
              .attention_dropout = config.number("attn_pdrop", base.attention_dropout),
              .embedding_dropout = config.number("embd_pdrop", base.embedding_dropout),
              .norm_eps = config.number("layer_norm_epsilon", base.norm_eps),
              .tie_output = config.flag("tie_word_embeddings", true),
              .init_std = config.number("initializer_range", base.init_std)};
  if (config.has("bos_token_id")) c.bos_id = config.whole("bos_token_id");
  if (config.has("eos_token_id")) c.eos_id = config.whole("eos_token_id");
  return c;
}

nlohmann::ordered_json config_json(const Gpt& model, DType dtype) {
  const GptConfig& c = model.config();
  if (c.output != nn::TokenOutput::logits)
    raise(ErrorKind::config, "config.json: GPT2LMHeadModel gives logits, not probabilities");
  nlohmann::ordered_json json = begin_config("GPT2LMHeadModel", "gpt2", dtype);
  json.update({{"vocab_size", c.vocab},
               {"n_embd", c.d_model},
               {"n_layer", c.layers},
               {"n_head", c.heads},
               {"n_inner", c.d_ff},
               {"n_positions", c.max_length},
               {"activation_function", activation_name(c.activation)},
               {"resid_pdrop", c.dropout},
               {"attn_pdrop", c.attention_dropout},
               {"embd_pdrop", c.embedding_dropout},
               {"layer_norm_epsilon", c.norm_eps},
               {"initializer_range", c.init_std},
               {"tie_word_embeddings", c.tie_output}});
  json["bos_token_id"] = c.bos_id ? nlohmann::ordered_json(*c.bos_id) : nullptr;
  json["eos_token_id"] = c.eos_id ? nlohmann::ordered_json(*c.eos_id) : nullptr;
  return json;
}

Layout gpt_layout(const GptConfig& c, const std::string& prefix) {
  Layout layout;
  const int64_t width = c.d_model, inner = c.d_ff > 0 ? c.d_ff : 4 * width;
  const std::string table = fmt::format("{}wte.weight", prefix);
  layout.tensor("embeddings.token.weight", table, {c.vocab, width});
  layout.tensor("embeddings.position.weight", fmt::format("{}wpe.weight", prefix), {c.max_length, width});
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string own = fmt::format("encoder.layers.{}.", i), their = fmt::format("{}h.{}.", prefix, i);
    const auto both = [&](const std::vector<const char*>& ours, const char* theirs, int64_t in, int64_t out_each) {
      std::vector<std::string> names;
      for (const char* name : ours) names.push_back(fmt::format("{}{}", own, name));
      layout.side_by_side(names, fmt::format("{}{}", their, theirs), in, out_each);
    };
    both({"self_attention.query", "self_attention.key", "self_attention.value"}, "attn.c_attn", width, width);
    both({"self_attention.output"}, "attn.c_proj", width, width);
    both({"feed_forward.linear1"}, "mlp.c_fc", width, inner);
    both({"feed_forward.linear2"}, "mlp.c_proj", inner, width);
    layout.norm(fmt::format("{}norm1", own), fmt::format("{}ln_1", their), width);
    layout.norm(fmt::format("{}norm2", own), fmt::format("{}ln_2", their), width);
    // The causal mask, which older releases saved.
    layout.ignore(fmt::format("{}attn.bias", their));
    layout.ignore(fmt::format("{}attn.masked_bias", their));
  }
  layout.norm("encoder.norm", fmt::format("{}ln_f", prefix), width);
  if (c.tie_output)
    layout.copy("lm_head.weight", table);
  else
    layout.tensor("output.weight", "lm_head.weight", {c.vocab, width});
  return layout;
}

}  // namespace tape::models::hugging_face
