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

/// What both classes say in the same words.
TransformerConfig read_sizes(const ConfigReader& config, int64_t padding) {
  for (const char* key : {"encoder_layerdrop", "decoder_layerdrop"})
    if (config.number(key, 0) != 0) config.wrong(key, "0");
  const int64_t vocab = config.whole("vocab_size");
  return {.src_vocab = vocab,
          .tgt_vocab = vocab,
          .d_model = config.whole("d_model", 1024),
          .layers = config.whole("encoder_layers", 12),
          .heads = config.whole("encoder_attention_heads", 16),
          .d_ff = config.whole("encoder_ffn_dim", 4096),
          .decoder_layers = config.whole("decoder_layers", 12),
          .decoder_heads = config.whole("decoder_attention_heads", 16),
          .decoder_d_ff = config.whole("decoder_ffn_dim", 4096),
          .dropout = config.number("dropout", 0.1),
          .attention_dropout = config.number("attention_dropout", 0),
          .activation_dropout = config.number("activation_dropout", 0),
          .norm_eps = 1e-5,
          .max_length = config.whole("max_position_embeddings", 1024),
          .padding_id = padding,
          .freeze_padding = config.flag("freeze_padding", true)};
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
  const bool share = config.flag("share_encoder_decoder_embeddings", true);
  TransformerConfig c = read_sizes(config, config.whole("pad_token_id", -1));
  c.tgt_vocab = share ? c.src_vocab : config.whole("decoder_vocab_size", c.src_vocab);
  c.activation = read_activation(config, "activation_function", "gelu");
  c.norm = nn::NormPlace::post;
  c.positions = nn::SinusoidLayout::halves;
  c.scale_embedding = config.flag("scale_embedding", false);
  c.bos_id = config.whole("decoder_start_token_id", c.padding_id);
  c.eos_id = config.whole("eos_token_id", 0);
  c.share_embeddings = share;
  c.tie_output = config.flag("tie_word_embeddings", true);
  c.output_bias = config.flag("output_bias", true);
  return c;
}

TransformerConfig read_m2m100_config(const ConfigReader& config) {
  config.require_flag("tie_word_embeddings", true, true);
  TransformerConfig c = read_sizes(config, config.whole("pad_token_id", 1));
  c.activation = read_activation(config, "activation_function", "relu");
  c.norm = nn::NormPlace::pre;
  c.positions = nn::SinusoidLayout::fairseq;
  c.position_offset = c.padding_id + 1;
  c.scale_embedding = config.flag("scale_embedding", true);
  c.bos_id = config.whole("decoder_start_token_id", 2);
  c.eos_id = config.whole("eos_token_id", 2);
  c.share_embeddings = true;
  c.tie_output = true;
  c.output_bias = false;
  return c;
}

nlohmann::ordered_json config_json(const Transformer& model, DType dtype) {
  const TransformerConfig& c = model.config();
  const bool marian = is_marian(c);
  nlohmann::ordered_json json = marian ? begin_config("MarianMTModel", "marian", dtype)
                                       : begin_config("M2M100ForConditionalGeneration", "m2m_100", dtype);
  json.update({{"is_encoder_decoder", true},
               {"vocab_size", c.src_vocab},
               {"d_model", c.d_model},
               {"encoder_layers", c.layers},
               {"encoder_attention_heads", c.heads},
               {"encoder_ffn_dim", c.d_ff},
               {"decoder_layers", c.decoder_layers.value_or(c.layers)},
               {"decoder_attention_heads", c.decoder_heads.value_or(c.heads)},
               {"decoder_ffn_dim", c.decoder_d_ff.value_or(c.d_ff)},
               {"dropout", c.dropout},
               {"attention_dropout", c.attention_dropout.value_or(c.dropout)},
               {"activation_dropout", c.activation_dropout.value_or(c.dropout)},
               {"encoder_layerdrop", 0.0},
               {"decoder_layerdrop", 0.0},
               {"activation_function", activation_name(c.activation)},
               {"max_position_embeddings", c.max_length},
               {"scale_embedding", c.scale_embedding},
               {"tie_word_embeddings", c.tie_output},
               {"pad_token_id", c.padding_id},
               {"decoder_start_token_id", c.bos_id},
               {"bos_token_id", nullptr},
               {"eos_token_id", c.eos_id},
               {"forced_eos_token_id", c.eos_id},
               // Ours, which transformers passes over: without it its own choice is read back.
               {"freeze_padding", c.freeze_padding.value_or(!c.tie_output)}});
  if (marian)
    json.update({{"decoder_vocab_size", c.tgt_vocab},
                 {"share_encoder_decoder_embeddings", c.share_embeddings},
                 {"output_bias", c.output_bias.value_or(!c.tie_output)}});
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
