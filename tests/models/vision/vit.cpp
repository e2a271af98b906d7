#include "models/vision/vit.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/loss/probability_loss.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "models/folders/folder.h"
#include "models/run.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

VitConfig tiny_vit() {
  return {.image_size = {4},
          .patch_size = {2},
          .channels = 1,
          .d_model = 8,
          .layers = 1,
          .heads = 2,
          .d_ff = 12,
          .init_std = 0.3};
}

TEST(Vit, AppliesItsPartsInSequence) {
  manual_seed(2);
  Vit model(tiny_vit());
  model.eval();
  const Tensor pixels = randn({3, 1, 4, 4});
  const Tensor hidden = model(pixels);
  EXPECT_EQ(to_string(hidden.shape()), "[3, 5, 8]");
  EXPECT_TRUE(tensors_equal(hidden, model.encoder(model.embeddings(pixels))));
  EXPECT_TRUE(tensors_equal(model.pool(hidden), (*model.pooler)(hidden)));
  EXPECT_EQ(model.settings(), "width 8");
}

TEST(ImageClassifier, ReadsTheClassToken) {
  manual_seed(2);
  ImageClassifier model({.vit = tiny_vit(), .num_labels = 3});
  model.eval();
  const Tensor pixels = randn({3, 1, 4, 4});
  EXPECT_FALSE(model.vit->pooler);
  EXPECT_TRUE(tensors_equal(model(pixels), model.classifier(select(model.vit(pixels), 1, 0))));
  EXPECT_EQ(model.config().label_names(), (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

TEST(ImageClassifier, ComputesTheLossOfItsProblemType) {
  const auto loss = [](int64_t num_labels, std::optional<ProblemType> type, const Tensor& logits,
                       const Tensor& labels) {
    const ImageClassifier model({.vit = tiny_vit(), .num_labels = num_labels, .problem_type = type});
    return model.loss(logits, labels).item();
  };
  EXPECT_EQ(loss(1, {}, tensor({{1}, {3}}), tensor({2, 7})), (1 + 16) / 2.0);
  EXPECT_EQ(loss(2, ProblemType::regression, tensor({{1, 2}}), tensor({{2, 4}})), (1 + 4) / 2.0);
  EXPECT_NEAR(loss(2, {}, tensor({{0, 0}}), tensor({1}, i64)), std::log(2.0), 1e-6);
  EXPECT_NEAR(loss(2, {}, tensor({{2, -1}}), tensor({{1, 1}})),
              (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(1.0))) / 2, 1e-6);
  EXPECT_TAPE_ERROR(loss(2, {}, tensor({{1, 2}}), tensor({{1, 2, 3}})), ErrorKind::shape,
                    "ImageClassifier: labels [1, 3] do not match logits [1, 2]");
}

TEST(ImageClassifier, PreservesItsProblemTypeInAFolder) {
  manual_seed(2);
  const TemporaryFolder folder;
  for (const std::optional<ProblemType> type : {std::optional<ProblemType>(), std::optional(ProblemType::regression),
                                                std::optional(ProblemType::multi_label_classification)}) {
    save(folder.path(), ImageClassifier({.vit = tiny_vit(), .num_labels = 3, .problem_type = type}));
    EXPECT_EQ(load<ImageClassifier>(folder.path())->config().problem_type, type);
  }
}

TEST(ImageClassifier, RunsWithLabelsOfItsProblemType) {
  manual_seed(2);
  const AnyModel model = std::make_unique<ImageClassifier>(ImageClassifierConfig{.vit = tiny_vit(), .num_labels = 3});
  const Tensor pixels = randn({2, 1, 4, 4}), shares = tensor({{0, 1, 1}, {1, 0, 1}});
  const nn::StateDict out = run(model, {{"pixel_values", pixels}, {"labels", shares}}, {.gradients = true});
  EXPECT_EQ(out.at("loss").item(), bce_with_logits_loss(out.at("logits"), shares).item());
  EXPECT_TRUE(out.contains("grad.classifier.weight"));
  EXPECT_TAPE_ERROR(run(model, {{"pixel_values", pixels}, {"labels", tensor({{0, 1}, {1, 1}})}}), ErrorKind::shape,
                    "ImageClassifier: labels [2, 2] do not match logits [2, 3]");
}

TEST(Vit, NamesTheInvalidValue) {
  VitConfig config = tiny_vit();
  config.layers = 0;
  EXPECT_TAPE_ERROR(Vit(config), ErrorKind::config, "Vit: layers must be at least 1, got 0");
  config = tiny_vit();
  config.patch_size = {3};
  EXPECT_TAPE_ERROR(Vit(config), ErrorKind::config, "PatchEmbeddings: patches [3, 3] do not divide an image [4, 4]");
  config = tiny_vit();
  config.pooler = false;
  EXPECT_TAPE_ERROR(Vit(config).pool(randn({1, 5, 8})), ErrorKind::config, "Vit: this model has no pooler");
  EXPECT_TAPE_ERROR(ImageClassifier({.vit = tiny_vit(), .num_labels = 0}), ErrorKind::config,
                    "ImageClassifier: num_labels must be at least 1, got 0");
  EXPECT_TAPE_ERROR(ImageClassifier({.vit = tiny_vit(), .num_labels = 3, .labels = {"cat"}}), ErrorKind::config,
                    "ImageClassifier: 1 names for 3 labels");
}

TEST(Vit, RunsOnPixels) {
  const AnyModel vit = load_model(fixture_path("hugging_face/vit"));
  EXPECT_TAPE_ERROR(run(vit, {}), ErrorKind::config, "run: input \"pixel_values\" is missing");
  EXPECT_TAPE_ERROR(run(vit, {{"pixel_values", randn({1, 2, 4, 4}, f64)}}), ErrorKind::shape,
                    "embeddings: PatchEmbeddings: pixels must be [B, 2, 4, 6], got [1, 2, 4, 4]");
  EXPECT_TAPE_ERROR(run(vit, {{"input_ids", tensor({{1}}, i64)}}), ErrorKind::config,
                    "run: unknown input \"input_ids\"; this model takes pixel_values");
}

}  // namespace
}  // namespace tape::models
