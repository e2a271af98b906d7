#include "models/hugging_face/marian.h"

namespace tape::models::hugging_face {
namespace {

/// Both stacks have the sublayers of an encoder layer; a decoder layer has attention to the memory between them.
void add_layer(Layout& layout, const std::string& own, const std::string& their, int64_t width, int64_t inner,
               bool decoder) {
  const auto attention = [&](const char* ours, const char* theirs) {
    for (const auto& [a, b] : {std::pair{"query", "q_proj"}, std::pair{"key", "k_proj"}, std::pair{"value", "v_proj"},
                               std::pair{"output", "out_proj"}})
      layout.linear(fmt::format("{}{}.{}", own, ours, a), fmt::format("{}{}.{}", their, theirs, b), width, width);
  };
  const auto norm = [&](const char* ours, const char* theirs) {
    layout.norm(fmt::format("{}{}", own, ours), fmt::format("{}{}", their, theirs), width);
  };
  attention("self_attention", "self_attn");
  norm("norm1", "self_attn_layer_norm");
  if (decoder) {
    attention("cross_attention", "encoder_attn");
    norm("norm2", "encoder_attn_layer_norm");
  }
  layout.linear(fmt::format("{}feed_forward.linear1", own), fmt::format("{}fc1", their), width, inner);
  layout.linear(fmt::format("{}feed_forward.linear2", own), fmt::format("{}fc2", their), inner, width);
  norm(decoder ? "norm3" : "norm2", "final_layer_norm");
}

constexpr const char* kLayerDrops[] = {"encoder_layerdrop", "decoder_layerdrop"};

/// What both classes say in the same words, in the order in which it is written.
template <class Config, class Visit>
void visit_sizes(Config& c, Visit&& visit) {
  visit("vocab_size", c.src_vocab);
  visit("d_model", c.d_model);
  visit("encoder_layers", c.layers);
  visit("encoder_attention_heads", c.heads);
  visit("encoder_ffn_dim", c.d_ff);
  visit("decoder_layers", c.decoder_layers);
  visit("decoder_attention_heads", c.decoder_heads);
  visit("decoder_ffn_dim", c.decoder_d_ff);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("activation_dropout", c.activation_dropout);
}
template <class Config, class Visit>
void visit_choices(Config& c, Visit&& visit) {
  visit("activation_function", c.activation);
  visit("max_position_embeddings", c.max_length);
  visit("scale_embedding", c.scale_embedding);
  visit("tie_word_embeddings", c.tie_output);
  visit("pad_token_id", c.padding_id);
}
template <class Config, class Visit>
void visit_own_of_marian(Config& c, Visit&& visit) {
  visit("decoder_vocab_size", c.tgt_vocab);
  visit("share_encoder_decoder_embeddings", c.share_embeddings);
  visit("output_bias", c.output_bias);
}

/// The values of `c` where the file has none.
TransformerConfig read_over(const ConfigReader& config, TransformerConfig c) {
  for (const char* key : kLayerDrops)
    if (config.number(key, 0) != 0) config.wrong(key, "0");
  c.src_vocab = config.whole("vocab_size");
  c.d_model = 1024;
  c.layers = 12, c.heads = 16, c.d_ff = 4096;
  c.decoder_layers = 12, c.decoder_heads = 16, c.decoder_d_ff = 4096;
  c.dropout = 0.1, c.attention_dropout = 0, c.activation_dropout = 0;
  c.norm_eps = 1e-5;
  c.max_length = 1024;
  c.freeze_padding = config.flag("freeze_padding", true);
  visit_sizes(c, ReadKeys{config});
  visit_choices(c, ReadKeys{config});
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
  json["is_encoder_decoder"] = true;
  visit_sizes(c, WriteKeys{json});
  for (const char* key : kLayerDrops) json[key] = 0.0;
  visit_choices(c, WriteKeys{json});
  json.update({{"decoder_start_token_id", c.bos_id},
               {"bos_token_id", nullptr},
               {"eos_token_id", c.eos_id},
               {"forced_eos_token_id", c.eos_id},
               // Ours, which transformers passes over: without it its own choice is read back.
               {"freeze_padding", *c.freeze_padding}});
  if (marian) visit_own_of_marian(c, WriteKeys{json});
  return json;
}

Layout marian_layout(const TransformerConfig& c) {
  Layout layout;
  const std::string encoder = "model.encoder.embed_tokens.weight", decoder = "model.decoder.embed_tokens.weight";
  if (c.share_embeddings) {
    layout.tensor("src_embedding.weight", "model.shared.weight", {c.src_vocab, c.d_model});
    layout.copy(encoder, "model.shared.weight");
    layout.copy(decoder, "model.shared.weight");
  } else {
    layout.tensor("src_embedding.weight", encoder, {c.src_vocab, c.d_model});
    layout.tensor("tgt_embedding.weight", decoder, {c.tgt_vocab, c.d_model});
  }
  if (c.tie_output)
    layout.copy("lm_head.weight", c.share_embeddings ? "model.shared.weight" : decoder);
  else
    layout.tensor("output.weight", "lm_head.weight", {c.tgt_vocab, c.d_model});
  if (c.output_bias.value_or(!c.tie_output)) layout.optional_row("output.bias", "final_logits_bias", c.tgt_vocab);
  for (int64_t i = 0; i < c.layers; ++i)
    add_layer(layout, fmt::format("encoder.layers.{}.", i), fmt::format("model.encoder.layers.{}.", i), c.d_model,
              c.d_ff, false);
  for (int64_t i = 0; i < c.decoder_layers.value_or(c.layers); ++i)
    add_layer(layout, fmt::format("decoder.layers.{}.", i), fmt::format("model.decoder.layers.{}.", i), c.d_model,
              c.decoder_d_ff.value_or(c.d_ff), true);
  if (c.norm == nn::NormPlace::pre) {
    layout.norm("encoder.norm", "model.encoder.layer_norm", c.d_model);
    layout.norm("decoder.norm", "model.decoder.layer_norm", c.d_model);
  }
  layout.ignore("embed_positions.weight");  // sinusoids, which older releases saved
  return layout;
}

}  // namespace tape::models::hugging_face
