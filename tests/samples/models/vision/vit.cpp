#include "models/vision/vit.h"
#include "nn/gradcheck/check.h"
#include "tests/samples/models/small_models.h"

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

const SmallModels small_vits([] {
  std::vector<AnyModel> models = made_of<Vit>({small_vit()});
  models.emplace_back(std::make_unique<ImageClassifier>(ImageClassifierConfig{.vit = small_vit()}));
  return models;
});

}  // namespace
}  // namespace tape::models
