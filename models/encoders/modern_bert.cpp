#include "models/encoders/modern_bert.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/encoders/encoder_family.h"
#include "models/encoders/encoder_sizes.h"

namespace tape::models {
namespace {

constexpr int64_t kGlobalEvery = 3;

nn::ClassificationHeadOptions head_of(const ModernBertConfig& c) {
  return {.dropout = c.classifier_dropout,
          .activation = c.classifier_activation,
          .dense_bias = c.classifier_bias.value_or(false),
          .norm_eps = c.norm_eps,
          .norm_bias = c.norm_bias};
}

}  // namespace

bool ModernBertConfig::is_local(int64_t layer) const {
  return local_layers.empty() ? layer % kGlobalEvery != 0 : local_layers.at(static_cast<size_t>(layer));
}

EncoderModelOptions model_options(const ModernBertConfig& c) {
  const nn::TransformerLayerOptions global{.d_model = c.d_model,
                                           .heads = c.heads,
                                           .d_ff = c.d_ff,
                                           .dropout = c.attention_dropout,
                                           .activation = c.activation,
                                           .norm = nn::NormPlace::pre,
                                           .norm_eps = c.norm_eps,
                                           .attention_dropout = c.attention_dropout,
                                           .activation_dropout = c.dropout,
                                           .feed_forward = nn::FeedForwardKind::gated,
                                           .bias = c.mlp_bias.value_or(false),
                                           .rotary = nn::RotaryOptions{.theta = c.global_theta},
                                           .attention_bias = c.attention_bias.value_or(false),
                                           .attention_output_bias = c.attention_bias.value_or(false),
                                           .norm_bias = c.norm_bias,
                                           .dropped = nn::DropoutPlacement::attention};
  EncoderModelOptions parts = encoder_model_options("ModernBert", "model", c, global);
  check_at_least_one("ModernBert", {{"local_attention", c.local_attention}});
  if (!c.local_layers.empty() && std::ssize(c.local_layers) != c.layers)
    raise(ErrorKind::config, "ModernBert: local_layers has {} entries for {} layers", c.local_layers.size(), c.layers);
  for (int64_t i = 0; i < c.layers; ++i) {
    nn::TransformerLayerOptions& layer = parts.layers[static_cast<size_t>(i)];
    layer.attention_norm = i != 0;
    if (!c.is_local(i)) continue;
    layer.window = nn::AttentionWindow::around(c.local_attention);
    layer.rotary = nn::RotaryOptions{.theta = c.local_theta};
  }
  parts.embeddings.max_length = 0;
  parts.embeddings.norm_bias = c.norm_bias;
  parts.embeddings.dropout = c.embedding_dropout.value_or(c.dropout);
  parts.masked_token = {.activation = c.classifier_activation,
                        .norm_eps = c.norm_eps,
                        .dense_bias = c.classifier_bias.value_or(false),
                        .norm_bias = c.norm_bias,
                        .decoder_bias = c.decoder_bias};
  parts.sequence = parts.token = parts.span = head_of(c);
  return parts;
}

}  // namespace tape::models

/// Layout of ModernBertModel and its heads.
namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kGlobal = "full_attention", *kLocal = "sliding_attention";

template <class Config, class Visit>
void visit_modern_bert_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("hidden_size", c.d_model);
  visit("num_hidden_layers", c.layers);
  visit("num_attention_heads", c.heads);
  visit("intermediate_size", c.d_ff);
  visit("max_position_embeddings", c.max_length);
  visit("hidden_activation", c.activation);
  visit("local_attention", c.local_attention);
  visit("mlp_dropout", c.dropout);
  visit("embedding_dropout", c.embedding_dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("classifier_dropout", c.classifier_dropout);
  visit("norm_eps", c.norm_eps);
  visit("norm_bias", c.norm_bias);
  visit("attention_bias", c.attention_bias);
  visit("mlp_bias", c.mlp_bias);
  visit("classifier_bias", c.classifier_bias);
  visit("decoder_bias", c.decoder_bias);
  visit("classifier_activation", c.classifier_activation);
  visit("initializer_range", c.init_std);
  visit("pad_token_id", c.padding_id);
}

/// The rotary base of one kind of layer: from "rope_parameters", or the key of older files.
void read_theta(const ConfigReader& config, const char* kind, const char* older, double& theta) {
  theta = config.number(older, theta);
  if (!config.has("rope_parameters")) return;
  const ConfigReader all = config.object("rope_parameters");
  if (!all.has(kind)) return;
  const ConfigReader rope = all.object(kind);
  for (const auto& [key, value] : rope.json().items())
    if (key != "rope_type" && key != "rope_theta") rope.wrong(key.c_str(), "left out");
  if (rope.text("rope_type", "default") != "default") rope.wrong("rope_type", "\"default\"");
  theta = rope.number("rope_theta", theta);
}

void read_local_layers(const ConfigReader& config, ModernBertConfig& c) {
  if (config.has("layer_types")) {
    for (const std::string& type : config.names("layer_types")) {
      if (type != kGlobal && type != kLocal) config.wrong("layer_types", fmt::format("{} or {}", kGlobal, kLocal));
      c.local_layers.push_back(type == kLocal);
    }
    if (std::ssize(c.local_layers) != c.layers)
      config.wrong("layer_types", fmt::format("a list of {} layers", c.layers));
    return;
  }
  const int64_t every = config.whole("global_attn_every_n_layers", 3);
  if (every < 1) config.wrong("global_attn_every_n_layers", "at least 1");
  constexpr int64_t kMost =
      1 << 16;  // no file has tensors of more layers; the error is reported where they are counted
  if (every != 3)
    for (int64_t i = 0; i < std::min(c.layers, kMost); ++i) c.local_layers.push_back(i % every != 0);
}

EncoderConfig read_modern_bert(const ConfigReader& config) {
  ModernBertConfig c{.embedding_dropout = 0.0};
  visit_modern_bert_keys(c, ReadKeys{config});
  if (config.has("rope_scaling")) config.wrong("rope_scaling", "left out");
  config.require_flag("sparse_prediction", false, false);
  read_theta(config, kGlobal, "global_rope_theta", c.global_theta);
  read_theta(config, kLocal, "local_rope_theta", c.local_theta);
  read_local_layers(config, c);
  return c;
}

void write_modern_bert(Json& json, const EncoderConfig& config) {
  ModernBertConfig c = std::get<ModernBertConfig>(config);
  c.embedding_dropout = c.embedding_dropout.value_or(c.dropout);
  for (std::optional<bool>* bias : {&c.attention_bias, &c.mlp_bias, &c.classifier_bias}) *bias = bias->value_or(false);
  visit_modern_bert_keys(c, WriteKeys{json});
  Json types = Json::array();
  for (int64_t i = 0; i < c.layers; ++i) types.push_back(c.is_local(i) ? kLocal : kGlobal);
  json["layer_types"] = types;
  json["rope_parameters"] = {{kGlobal, {{"rope_type", "default"}, {"rope_theta", c.global_theta}}},
                             {kLocal, {{"rope_type", "default"}, {"rope_theta", c.local_theta}}}};
  json["global_rope_theta"] = c.global_theta;
  json["local_rope_theta"] = c.local_theta;
  json["tie_word_embeddings"] = true;
}

void add_modern_bert(Layout& layout, const EncoderConfig& config) {
  const auto& c = std::get<ModernBertConfig>(config);
  model_options(c);  // throws for an invalid configuration
  const int64_t width = c.d_model;
  const bool attention_bias = c.attention_bias.value_or(false), mlp_bias = c.mlp_bias.value_or(false);
  layout.tensor("embeddings.token.weight", "embeddings.tok_embeddings.weight", {c.vocab, width});
  layout.norm("embeddings.norm", "embeddings.norm", width, c.norm_bias);
  for (int64_t i = 0; i < c.layers; ++i) {
    const Layout::Scope layer(layout, fmt::format("encoder.layers.{}.", i), fmt::format("layers.{}.", i));
    layout.packed_rows({"self_attention.query", "self_attention.key", "self_attention.value"}, "attn.Wqkv", width,
                       width, attention_bias);
    layout.linear("self_attention.output", "attn.Wo", width, width, attention_bias);
    layout.packed_rows({"feed_forward.gate", "feed_forward.up"}, "mlp.Wi", width, c.d_ff, mlp_bias);
    layout.linear("feed_forward.down", "mlp.Wo", c.d_ff, width, mlp_bias);
    if (i > 0) layout.norm("norm1", "attn_norm", width, c.norm_bias);
    layout.norm("norm2", "mlp_norm", width, c.norm_bias);
  }
  layout.norm("encoder.norm", "final_norm", width, c.norm_bias);
}

}  // namespace

const EncoderFamily& modern_bert_family() {
  static constexpr HeadNames kHead{"classifier", "head.dense", "head.norm"};
  static const EncoderFamily family =
      encoder_family_of<ModernBert>({.stem = "ModernBert",
                                     .model_type = "modernbert",
                                     .prefix = "model.",
                                     .title = "ModernBERT",
                                     .display_name = "a ModernBert without a head",
                                     .read = read_modern_bert,
                                     .write = write_modern_bert,
                                     .add_encoder = add_modern_bert,
                                     .masked_token = [](const EncoderConfig&) -> MaskedHeadNames {
                                       return {"head.dense", "head.norm", "decoder.bias", "decoder.weight"};
                                     },
                                     .sequence = kHead,
                                     .token = kHead,
                                     .span = kHead,
                                     .table = "embeddings.tok_embeddings.weight",
                                     .pooling_key = "classifier_pooling"});
  return family;
}

}  // namespace tape::models::hugging_face
