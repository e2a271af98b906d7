#include "models/vision/vit.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/ops/shape/shape.h"
#include "base/check.h"
#include "models/folders/config_keys.h"
#include "models/folders/family.h"
#include "models/folders/folder_loading.h"
#include "models/heads/labels.h"
#include "nn/init.h"

namespace tape::models {
namespace {

const VitConfig& checked(const VitConfig& c) {
  check_at_least_one("Vit", {{"d_model", c.d_model}, {"layers", c.layers}, {"heads", c.heads}, {"d_ff", c.d_ff}});
  return c;
}

nn::TransformerLayerOptions vit_layers(const VitConfig& c) {
  return {.d_model = c.d_model,
          .heads = c.heads,
          .d_ff = c.d_ff,
          .dropout = c.dropout,
          .activation = c.activation,
          .norm = nn::NormPlace::pre,
          .norm_eps = c.norm_eps,
          .attention_dropout = c.attention_dropout,
          .activation_dropout = 0,
          .attention_bias = c.bias,
          .attention_output_bias = true};
}

ImageClassifierConfig completed(ImageClassifierConfig c) {
  check_labels("ImageClassifier", c.labels, c.num_labels);
  c.vit.pooler = false;
  return c;
}

}  // namespace

Vit::Vit(const VitConfig& c)
    : embeddings(this, "embeddings",
                 nn::PatchEmbeddingsOptions{.image_size = checked(c).image_size,
                                            .patch_size = c.patch_size,
                                            .channels = c.channels,
                                            .d_model = c.d_model,
                                            .dropout = c.dropout}),
      encoder(this, "encoder", c.layers, vit_layers(c)),
      pooler(c.pooler ? std::make_unique<nn::Child<nn::Pooler>>(this, "pooler", c.d_model) : nullptr),
      config_(c) {
  nn::init::start_normal(*this, c.init_std);
}

Tensor Vit::forward(const Tensor& pixels) { return encoder(embeddings(pixels)); }

Tensor Vit::pool(const Tensor& hidden) {
  if (!pooler) raise(ErrorKind::config, "Vit: this model has no pooler");
  return (*pooler)(hidden);
}

std::string Vit::settings() const { return fmt::format("width {}", config_.d_model); }

std::vector<std::string> ImageClassifierConfig::label_names() const { return models::label_names(labels, num_labels); }

ImageClassifier::ImageClassifier(const ImageClassifierConfig& c)
    : vit(this, "vit", completed(c).vit),
      classifier(this, "classifier", c.vit.d_model, c.num_labels),
      config_(completed(c)) {
  nn::init::start_normal(*classifier, c.vit.init_std);
}

Tensor ImageClassifier::forward(const Tensor& pixels) { return classifier(select(vit(pixels), 1, 0)); }

ProblemType ImageClassifier::problem_type(DType labels) const {
  return problem_type_of(config_.problem_type, config_.num_labels, labels);
}

Tensor ImageClassifier::loss(const Tensor& logits, const Tensor& labels) const {
  return classification_loss("ImageClassifier", problem_type(labels.dtype()), logits, labels);
}

}  // namespace tape::models

namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVitPrefix = "vit.";

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

void add_vit(Layout& layout, const VitConfig& c) {
  const int64_t width = c.d_model;
  const std::vector<int64_t> image = SpatialSizes(c.image_size).of("Vit", "image_size", 2, 1),
                             patch = SpatialSizes(c.patch_size).of("Vit", "patch_size", 2, 1);
  const int64_t patches = (image[0] / patch[0]) * (image[1] / patch[1]);
  layout.tensor("embeddings.class_token", "embeddings.cls_token", {1, 1, width});
  layout.tensor("embeddings.position", "embeddings.position_embeddings", {1, 1 + patches, width});
  layout.tensor("embeddings.projection.weight", "embeddings.patch_embeddings.projection.weight",
                {width, c.channels, patch[0], patch[1]});
  layout.tensor("embeddings.projection.bias", "embeddings.patch_embeddings.projection.bias", {width});
  for (int64_t i = 0; i < c.layers; ++i) {
    const Layout::Scope layer(layout, fmt::format("encoder.layers.{}.", i), fmt::format("encoder.layer.{}.", i));
    layout.linear("self_attention.query", "attention.attention.query", width, width, c.bias);
    layout.linear("self_attention.key", "attention.attention.key", width, width, c.bias);
    layout.linear("self_attention.value", "attention.attention.value", width, width, c.bias);
    layout.linear("self_attention.output", "attention.output.dense", width, width);
    layout.linear("feed_forward.linear1", "intermediate.dense", width, c.d_ff);
    layout.linear("feed_forward.linear2", "output.dense", c.d_ff, width);
    layout.norm("norm1", "layernorm_before", width);
    layout.norm("norm2", "layernorm_after", width);
  }
  layout.norm("encoder.norm", "layernorm", width);
  if (c.pooler) layout.linear("pooler.dense", "pooler.dense", width, width);
}

/// Throws Error (config) for unsupported options: interpolated positions, a pooler of another width.
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

Layout vit_layout(const VitConfig& config) {
  Layout layout;
  add_vit(layout, config);
  return layout;
}

Layout image_classifier_layout(const ImageClassifierConfig& config) {
  Layout layout;
  {
    const Layout::Scope vit(layout, kVitPrefix, kVitPrefix);
    add_vit(layout, config.vit);
  }
  layout.linear("classifier", "classifier", config.vit.d_model, config.num_labels);
  return layout;
}

/// Has two classes of ours; a folder without "architectures" is one or the other depending on its tensors.
class VitFamily final : public ModelFamily {
 public:
  std::vector<TransformersClass> classes() const override {
    return {{"ViTModel", "vit", "ViT"}, {"ViTForImageClassification", "vit", "ViT"}};
  }
  std::optional<AnyModel> load(const std::string& folder, const ConfigReader& config) const override {
    const std::optional<size_t> place = class_of(config);
    if (!place) return std::nullopt;
    const bool named = !config.names("architectures").empty(), classifier = *place == 1;
    // Report errors in the smaller file first.
    if (classifier)
      read_image_classifier_config(config);
    else
      read_vit_config(config);
    Weights weights = read_weights(folder);
    if (classifier || (!named && weights.tensors.contains("classifier.weight")))
      return image_classifier(config, weights);
    return vit(config, std::move(weights));
  }
  bool has(const nn::Module& model) const override {
    return as_class(model) != std::pair<const Vit*, const ImageClassifier*>();
  }
  Layout layout(const nn::Module& model) const override {
    const auto [vit, classifier] = as_class(model);
    return vit ? vit_layout(vit->config()) : image_classifier_layout(classifier->config());
  }
  FolderTextFiles texts(const nn::Module& model, const SaveOptions&) const override {
    const DType dtype = model.parameters().front().dtype();
    const auto [vit, classifier] = as_class(model);
    if (vit) return {json_text(kConfig, vit_json(vit->config(), "ViTModel", dtype))};
    const ImageClassifierConfig& c = classifier->config();
    Json json = vit_json(c.vit, "ViTForImageClassification", dtype);
    write_problem_type(json, c.problem_type);
    write_labels(json, c.label_names());
    return {json_text(kConfig, json)};
  }
  std::string display_name(const std::type_info& type) const override {
    return type == typeid(Vit)               ? "a Vit without a head"
           : type == typeid(ImageClassifier) ? "an ImageClassifier (ViTForImageClassification)"
                                             : "";
  }

 private:
  /// The model cast to one of the classes, or null.
  static std::pair<const Vit*, const ImageClassifier*> as_class(const nn::Module& model) {
    return {dynamic_cast<const Vit*>(&model), dynamic_cast<const ImageClassifier*>(&model)};
  }
  static AnyModel vit(const ConfigReader& config, Weights weights) {
    VitConfig c = read_vit_config(config);
    check_layers(config.where(), c.layers, weights);
    weights.tensors = without_prefix(std::move(weights.tensors), kVitPrefix);
    c.pooler = weights.tensors.contains("pooler.dense.weight");
    return filled<Vit>(config.where(), c, weights, [&] { return vit_layout(c); });
  }
  static AnyModel image_classifier(const ConfigReader& config, const Weights& weights) {
    const ImageClassifierConfig c = read_image_classifier_config(config);
    check_layers(config.where(), c.vit.layers, weights);
    return filled<ImageClassifier>(
        config.where(), c, weights, [&] { return image_classifier_layout(c); }, kVitPrefix);
  }
};

}  // namespace

const ModelFamily& vit_family() {
  static const auto& family = *new const VitFamily;
  return family;
}

}  // namespace tape::models::hugging_face
