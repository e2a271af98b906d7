#include "models/hugging_face/marian.h"

#include "models/hugging_face/fairseq_family.h"

namespace tape::models::hugging_face {
namespace {

template <class Config, class Visit>
void visit_own_of_marian(Config& c, Visit&& visit) {
  visit("decoder_vocab_size", c.tgt_vocab);
  visit("share_encoder_decoder_embeddings", c.share_embeddings);
  visit("output_bias", c.output_bias);
}

/// The values of `c` where the file has none.
TransformerConfig read_over(const ConfigReader& config, TransformerConfig c) {
  c.src_vocab = config.whole("vocab_size");
  c.d_model = 1024;
  c.layers = 12, c.heads = 16, c.d_ff = 4096;
  c.decoder_layers = 12, c.decoder_heads = 16, c.decoder_d_ff = 4096;
  c.dropout = 0.1, c.attention_dropout = 0, c.activation_dropout = 0;
  c.norm_eps = 1e-5;
  c.max_length = 1024;
  c.freeze_padding = config.flag("freeze_padding", true);
  visit_family_sizes(c, ReadKeys{config});
  visit_family_choices(c, ReadKeys{config});
  c.tie_output = config.flag("tie_word_embeddings", c.tie_output);
  c.tgt_vocab = c.src_vocab;
  return c;
}

/// With a value for whatever may be left open.
TransformerConfig filled(TransformerConfig c) {
  const auto fill = [](auto& value, auto otherwise) { value = value.value_or(otherwise); };
  fill(c.decoder_layers, c.layers);
  fill(c.decoder_heads, c.heads);
  fill(c.decoder_d_ff, c.d_ff);
  fill(c.attention_dropout, c.dropout);
  fill(c.activation_dropout, c.dropout);
  fill(c.output_bias, !c.tie_output);
  fill(c.freeze_padding, !c.tie_output);
  return c;
}

}  // namespace

bool is_marian(const TransformerConfig& c) {
  return c.norm == nn::NormPlace::post && c.norm_eps == 1e-5 && c.positions == nn::SinusoidLayout::halves;
}

bool is_m2m100(const TransformerConfig& c) {
  return c.norm == nn::NormPlace::pre && c.norm_eps == 1e-5 && c.positions == nn::SinusoidLayout::fairseq &&
         c.position_offset.value_or(0) == c.padding_id + 1 && c.share_embeddings && c.tie_output &&
         !c.output_bias.value_or(false);
}

TransformerConfig read_marian_config(const ConfigReader& config) {
  TransformerConfig c = read_over(config, {.activation = nn::ActivationKind::gelu,
                                           .norm = nn::NormPlace::post,
                                           .positions = nn::SinusoidLayout::halves,
                                           .scale_embedding = false,
                                           .padding_id = -1,
                                           .share_embeddings = true,
                                           .tie_output = true,
                                           .output_bias = true});
  visit_own_of_marian(c, ReadKeys{config});
  if (c.share_embeddings) c.tgt_vocab = c.src_vocab;
  c.bos_id = config.whole("decoder_start_token_id", c.padding_id);
  c.eos_id = config.whole("eos_token_id", 0);
  return c;
}

TransformerConfig read_m2m100_config(const ConfigReader& config) {
  config.require_flag("tie_word_embeddings", true, true);
  TransformerConfig c = read_over(config, {.activation = nn::ActivationKind::relu,
                                           .norm = nn::NormPlace::pre,
                                           .positions = nn::SinusoidLayout::fairseq,
                                           .scale_embedding = true,
                                           .padding_id = 1,
                                           .share_embeddings = true,
                                           .tie_output = true,
                                           .output_bias = false});
  c.position_offset = c.padding_id + 1;
  c.bos_id = config.whole("decoder_start_token_id", 2);
  c.eos_id = config.whole("eos_token_id", 2);
  return c;
}

nlohmann::ordered_json config_json(const Transformer& model, DType dtype) {
  const TransformerConfig c = filled(model.config());
  const bool marian = is_marian(c);
  nlohmann::ordered_json json = marian ? begin_config("MarianMTModel", "marian", dtype)
                                       : begin_config("M2M100ForConditionalGeneration", "m2m_100", dtype);
  json["vocab_size"] = c.src_vocab;
  visit_family_sizes(c, WriteKeys{json});
  visit_family_choices(c, WriteKeys{json});
  write_family_rest(json, c.bos_id, c.eos_id);
  json["tie_word_embeddings"] = c.tie_output;
  // Ours, which transformers passes over: without it its own choice is read back.
  json["freeze_padding"] = *c.freeze_padding;
  if (marian) visit_own_of_marian(c, WriteKeys{json});
  return json;
}

Layout marian_layout(const TransformerConfig& c) {
  Layout layout;
  const std::string encoder = "model.encoder.embed_tokens.weight", decoder = "model.decoder.embed_tokens.weight";
  if (c.share_embeddings) {
    add_shared_table(layout, c.src_vocab, c.d_model);
  } else {
    layout.tensor("src_embedding.weight", encoder, {c.src_vocab, c.d_model});
    layout.tensor("tgt_embedding.weight", decoder, {c.tgt_vocab, c.d_model});
  }
  if (c.tie_output)
    layout.copy("lm_head.weight", c.share_embeddings ? "model.shared.weight" : decoder);
  else
    layout.tensor("output.weight", "lm_head.weight", {c.tgt_vocab, c.d_model});
  if (c.output_bias.value_or(!c.tie_output)) layout.optional_row("output.bias", "final_logits_bias", c.tgt_vocab);
  add_family_stacks(layout, {.width = c.d_model,
                             .layers = c.layers,
                             .d_ff = c.d_ff,
                             .decoder_layers = c.decoder_layers.value_or(c.layers),
                             .decoder_d_ff = c.decoder_d_ff.value_or(c.d_ff),
                             .last_norms = c.norm == nn::NormPlace::pre});
  layout.ignore("embed_positions.weight");  // sinusoids, which older releases saved
  return layout;
}

}  // namespace tape::models::hugging_face
