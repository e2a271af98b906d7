#include "models/encoders/deberta.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/encoders/encoder_family.h"
#include "models/encoders/encoder_sizes.h"

namespace tape::models {

EncoderModelOptions model_options(const DebertaConfig& c) {
  nn::TransformerLayerOptions layer = post_norm_layer(c, c.norm_eps);
  layer.disentangled = nn::DisentangledAttentionOptions{.max_distance = c.max_relative_positions,
                                                        .terms = c.terms,
                                                        .buckets = c.position_buckets,
                                                        .share_projections = c.share_projections,
                                                        .position_dropout = c.dropout};
  if (c.norm_positions) layer.disentangled->rows_norm_eps = c.norm_eps;
  EncoderModelOptions parts = encoder_model_options("Deberta", "deberta", c, layer);
  check_at_least_one("Deberta", {{"max_relative_positions", c.max_relative_positions}});
  if (!c.position_table) parts.embeddings.max_length = 0;
  parts.sequence = {.dropout = c.dropout, .activation = c.pooler_activation, .input_dropout = c.pooler_dropout};
  parts.soft_labels = true;
  return parts;
}

}  // namespace tape::models

/// Layout of DebertaV2Model (also DeBERTa v3) and its heads.
namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

/// Reads "c2p|p2c", or a list of the two.
nn::PositionTerms read_terms(const ConfigReader& config) {
  const auto found = config.json().find("pos_att_type");
  bool to_position = false, to_content = false, known = found != config.json().end();
  const auto take = [&](const std::string& name) {
    to_position |= name == "c2p";
    to_content |= name == "p2c";
    known &= name == "c2p" || name == "p2c";
  };
  if (known && found->is_string()) {
    const std::string text = found->get<std::string>();
    size_t first = 0;
    for (size_t bar; (bar = text.find('|', first)) != std::string::npos; first = bar + 1)
      take(text.substr(first, bar - first));
    take(text.substr(first));
  } else if (known) {
    for (const std::string& name : config.names("pos_att_type")) take(name);
  }
  if (!known || (!to_position && !to_content)) config.wrong("pos_att_type", "\"c2p\", \"p2c\" or both");
  return to_position && to_content ? nn::PositionTerms::both
         : to_position             ? nn::PositionTerms::content_to_position
                                   : nn::PositionTerms::position_to_content;
}

/// Rejects options of other models of the family that are not supported.
void check_supported_parts(const ConfigReader& config, const DebertaConfig& c) {
  config.require_flag("relative_attention", true, false);
  if (config.whole("conv_kernel_size", 0) > 0) config.wrong("conv_kernel_size", "0: its layer is not supported");
  if (config.whole("embedding_size", c.d_model) != c.d_model)
    config.wrong("embedding_size", fmt::format("the hidden_size, {}", c.d_model));
  if (config.whole("pooler_hidden_size", c.d_model) != c.d_model)
    config.wrong("pooler_hidden_size", fmt::format("the hidden_size, {}", c.d_model));
  if (c.heads > 0 && config.whole("attention_head_size", c.d_model / c.heads) != c.d_model / c.heads)
    config.wrong("attention_head_size", fmt::format("hidden_size / num_attention_heads, {}", c.d_model / c.heads));
}

EncoderConfig read_deberta(const ConfigReader& config) {
  require_plain_encoder(config);
  // transformers' defaults.
  DebertaConfig c{.d_model = 1536, .layers = 24, .heads = 24, .d_ff = 6144};
  visit_encoder_keys(c, ReadKeys{config});
  check_supported_parts(config, c);
  c.terms = read_terms(config);
  c.position_table = config.flag("position_biased_input", true);
  c.max_relative_positions = config.whole("max_relative_positions", -1);
  if (c.max_relative_positions < 1) c.max_relative_positions = c.max_length;
  c.position_buckets = std::max<int64_t>(config.whole("position_buckets", -1), 0);
  c.share_projections = config.flag("share_att_key", false);
  const std::string norm = config.text("norm_rel_ebd", "none");
  if (norm != "none" && norm != "layer_norm") config.wrong("norm_rel_ebd", "\"none\" or \"layer_norm\"");
  c.norm_positions = norm == "layer_norm";
  c.pooler_activation = read_activation(config, "pooler_hidden_act", c.pooler_activation);
  c.pooler_dropout = config.number("pooler_dropout", c.pooler_dropout);
  c.legacy_head = config.flag("legacy", c.legacy_head);
  return c;
}

void write_deberta(Json& json, const EncoderConfig& config) {
  const auto& c = std::get<DebertaConfig>(config);
  visit_encoder_keys(c, WriteKeys{json});
  Json terms = Json::array();
  if (c.terms != nn::PositionTerms::content_to_position) terms.push_back("p2c");
  if (c.terms != nn::PositionTerms::position_to_content) terms.push_back("c2p");
  json.update({{"relative_attention", true},
               {"pos_att_type", terms},
               {"position_biased_input", c.position_table},
               {"max_relative_positions", c.max_relative_positions},
               {"position_buckets", c.position_buckets > 0 ? c.position_buckets : -1},
               {"share_att_key", c.share_projections},
               {"norm_rel_ebd", c.norm_positions ? "layer_norm" : "none"},
               {"pooler_hidden_act", activation_name(c.pooler_activation)},
               {"pooler_hidden_size", c.d_model},
               {"pooler_dropout", c.pooler_dropout},
               {"legacy", c.legacy_head},
               {"tie_word_embeddings", true}});
}

void add_deberta(Layout& layout, const EncoderConfig& config) {
  static constexpr LayerNames kLayer{"attention.self.query_proj",
                                     "attention.self.key_proj",
                                     "attention.self.value_proj",
                                     "attention.output.dense",
                                     "attention.output.LayerNorm",
                                     "intermediate.dense",
                                     "output.dense",
                                     "output.LayerNorm"};
  const EncoderModelOptions parts = model_options(config);
  const int64_t width = parts.d_model;
  add_embeddings(layout, parts);
  add_layers(layout, parts, "encoder.layer.", kLayer);
  const nn::DisentangledAttentionOptions attention = parts.layers.front().disentangled.value();
  for (size_t i = 0; i < parts.layers.size() && !attention.share_projections; ++i) {
    const Layout::Scope layer(layout, fmt::format("encoder.layers.{}.self_attention.", i),
                              fmt::format("encoder.layer.{}.attention.self.", i));
    if (attention.terms != nn::PositionTerms::position_to_content)
      layout.linear("position_key", "pos_key_proj", width, width);
    if (attention.terms != nn::PositionTerms::content_to_position)
      layout.linear("position_query", "pos_query_proj", width, width);
  }
  layout.tensor("encoder.relative_rows.weight", "encoder.rel_embeddings.weight",
                {checked_multiply(attention.distances(), 2, "position_buckets"), width});
  if (attention.rows_norm_eps) layout.norm("encoder.relative_norm", "encoder.LayerNorm", width);
  // Left in folders by DeBERTa v3's pretraining.
  layout.ignore("mask_predictions.");
  if (!parts.embeddings.max_length) layout.ignore("position_embeddings");
}

MaskedHeadNames deberta_masked_head(const EncoderConfig& config) {
  if (std::get<DebertaConfig>(config).legacy_head) return kBertMaskedHead;
  return {"lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm", "lm_predictions.lm_head.bias"};
}

}  // namespace

const EncoderFamily& deberta_family() {
  static const EncoderFamily family =
      encoder_family_of<Deberta>({.stem = "DebertaV2",
                                  .model_type = "deberta-v2",
                                  .prefix = "deberta.",
                                  .title = "DeBERTa",
                                  .display_name = "a Deberta (version 2 or 3) without a head",
                                  .read = read_deberta,
                                  .write = write_deberta,
                                  .add_encoder = add_deberta,
                                  .masked_token = deberta_masked_head,
                                  .sequence = {.dense = "pooler.dense", .dropout_key = "cls_dropout"}});
  return family;
}

}  // namespace tape::models::hugging_face
