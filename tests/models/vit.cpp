#include "models/vit.h"

#include "autograd/create.h"
#include "autograd/ops/shape.h"
#include "autograd/random.h"
#include "models/folder.h"
#include "models/run.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
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

TEST(Vit, IsItsPartsBehindEachOther) {
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

TEST(ImageClassifier, ReadsTheClassesPlace) {
  manual_seed(2);
  ImageClassifier model({.vit = tiny_vit(), .num_labels = 3});
  model.eval();
  const Tensor pixels = randn({3, 1, 4, 4});
  EXPECT_FALSE(model.vit->pooler);
  EXPECT_TRUE(tensors_equal(model(pixels), model.classifier(select(model.vit(pixels), 1, 0))));
  EXPECT_EQ(model.config().label_names(), (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

TEST(Vit, NamesTheValueThatDoesNotFit) {
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
