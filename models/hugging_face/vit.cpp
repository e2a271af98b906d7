#include "models/hugging_face/vit.h"

#include <algorithm>

namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

template <class Config, class Visit>
void visit_vit_keys(Config& c, Visit&& visit) {
  visit("hidden_size", c.d_model);
  visit("num_hidden_layers", c.layers);
  visit("num_attention_heads", c.heads);
  visit("intermediate_size", c.d_ff);
  visit("hidden_act", c.activation);
  visit("hidden_dropout_prob", c.dropout);
  visit("attention_probs_dropout_prob", c.attention_dropout);
  visit("initializer_range", c.init_std);
  visit("layer_norm_eps", c.norm_eps);
  visit("image_size", c.image_size);
  visit("patch_size", c.patch_size);
  visit("num_channels", c.channels);
  visit("qkv_bias", c.bias);
}

Json vit_json(const VitConfig& c, const char* architecture, DType dtype) {
  Json json = begin_config(architecture, "vit", dtype);
  visit_vit_keys(c, WriteKeys{json});
  json.update({{"pooler_output_size", c.d_model}, {"pooler_act", "tanh"}});
  return json;
}

void add_vit(Layout& layout, const VitConfig& c, const std::string& prefix) {
  const int64_t width = c.d_model;
  const auto name = [&](const char* part) { return fmt::format("{}{}", prefix, part); };
  const std::vector<int64_t> image = SpatialSizes(c.image_size).of("Vit", "image_size", 2, 1),
                             patch = SpatialSizes(c.patch_size).of("Vit", "patch_size", 2, 1);
  const int64_t patches = (image[0] / patch[0]) * (image[1] / patch[1]);
  layout.tensor(name("embeddings.class_token"), name("embeddings.cls_token"), {1, 1, width});
  layout.tensor(name("embeddings.position"), name("embeddings.position_embeddings"), {1, 1 + patches, width});
  layout.tensor(name("embeddings.projection.weight"), name("embeddings.patch_embeddings.projection.weight"),
                {width, c.channels, patch[0], patch[1]});
  layout.tensor(name("embeddings.projection.bias"), name("embeddings.patch_embeddings.projection.bias"), {width});
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string own = fmt::format("{}encoder.layers.{}.", prefix, i);
    const std::string their = fmt::format("{}encoder.layer.{}.", prefix, i);
    const auto linear = [&](const char* a, const char* b, int64_t in, int64_t out, bool bias) {
      layout.linear(fmt::format("{}{}", own, a), fmt::format("{}{}", their, b), in, out, bias);
    };
    linear("self_attention.query", "attention.attention.query", width, width, c.bias);
    linear("self_attention.key", "attention.attention.key", width, width, c.bias);
    linear("self_attention.value", "attention.attention.value", width, width, c.bias);
    linear("self_attention.output", "attention.output.dense", width, width, true);
    linear("feed_forward.linear1", "intermediate.dense", width, c.d_ff, true);
    linear("feed_forward.linear2", "output.dense", c.d_ff, width, true);
    layout.norm(fmt::format("{}norm1", own), fmt::format("{}layernorm_before", their), width);
    layout.norm(fmt::format("{}norm2", own), fmt::format("{}layernorm_after", their), width);
  }
  layout.norm(name("encoder.norm"), name("layernorm"), width);
  if (c.pooler) layout.linear(name("pooler.dense"), name("pooler.dense"), width, width);
}

}  // namespace

VitConfig read_vit_config(const ConfigReader& config) {
  VitConfig c;
  visit_vit_keys(c, ReadKeys{config});
  for (const auto& [key, sizes] : {std::pair{"image_size", &c.image_size}, std::pair{"patch_size", &c.patch_size}})
    if (sizes->empty() || sizes->size() > 2 || *std::ranges::min_element(*sizes) < 1)
      config.wrong(key, "a positive number, or two");
  if (config.whole("pooler_output_size", c.d_model) != c.d_model)
    config.wrong("pooler_output_size", fmt::format("{}, the hidden_size", c.d_model));
  if (config.text("pooler_act", "tanh") != "tanh") config.wrong("pooler_act", "\"tanh\"");
  return c;
}

ImageClassifierConfig read_image_classifier_config(const ConfigReader& config) {
  ImageClassifierConfig c{.vit = read_vit_config(config)};
  c.vit.pooler = false;
  read_labels(c, config);
  c.problem_type = read_problem_type(config);
  return c;
}

Json config_json(const Vit& model, DType dtype) { return vit_json(model.config(), "ViTModel", dtype); }

Json config_json(const ImageClassifier& model, DType dtype) {
  Json json = vit_json(model.config().vit, "ViTForImageClassification", dtype);
  write_problem_type(json, model.config().problem_type);
  write_labels(json, model.config().label_names());
  return json;
}

Layout vit_layout(const VitConfig& config) {
  Layout layout;
  add_vit(layout, config, "");
  return layout;
}

Layout image_classifier_layout(const ImageClassifierConfig& config) {
  Layout layout;
  add_vit(layout, config.vit, "vit.");
  layout.linear("classifier", "classifier", config.vit.d_model, config.num_labels);
  return layout;
}

}  // namespace tape::models::hugging_face
