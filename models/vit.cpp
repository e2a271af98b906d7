#include "models/vit.h"

#include "autograd/ops/shape/shape.h"
#include "base/check.h"
#include "models/labels.h"
#include "nn/gradcheck/check.h"
#include "nn/init.h"

namespace tape::models {
namespace {

VitConfig small_vit() {
  return {.image_size = {4},
          .patch_size = {2},
          .channels = 1,
          .d_model = 4,
          .layers = 1,
          .heads = 2,
          .d_ff = 5,
          .init_std = 0.5};
}

const nn::ModuleCheck vit_check("Vit", "four patches", [](const nn::Checker& check) {
  VitConfig config = small_vit();
  config.pooler = false;
  Vit model(config);
  return check(model, {sample_normal({2, 1, 4, 4})}, "key.bias");
});
const nn::ModuleCheck image_classifier_check("ImageClassifier", "three labels", [](const nn::Checker& check) {
  ImageClassifier model({.vit = small_vit(), .num_labels = 3});
  return check(model, {sample_normal({2, 1, 4, 4})}, "key.bias");
});

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
