#include "nn/embedding/patch_embeddings.h"

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

PatchEmbeddingsOptions oblong() {
  return {.image_size = {4, 6}, .patch_size = {2, 3}, .channels = 2, .d_model = 5, .dropout = 0.5};
}

TEST(PatchEmbeddings, AreTheFlattenedPatchesTimesAMatrix) {
  manual_seed(4);
  PatchEmbeddings layer(oblong());
  layer.eval();
  const Tensor pixels = randn({3, 2, 4, 6});
  // Cuts patches by hand, row by row, and flattens each channel by channel.
  Tensors places{expand(layer.class_token, {3, 1, 5})};
  const Tensor matrix = reshape(layer.projection->weight, {5, 12});
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < 2; ++column) {
      const Tensor patch = slice(slice(pixels, 2, {.start = 2 * row, .end = 2 * row + 2}), 3,
                                 {.start = 3 * column, .end = 3 * column + 3});
      places.push_back(unsqueeze(matmul(reshape(patch, {3, 12}), transpose(matrix)) + layer.projection->bias, 1));
    }
  EXPECT_TRUE(tensors_near(layer(pixels), cat(places, 1) + layer.position, 1e-5));
  EXPECT_EQ(layer.grid(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(layer.settings(), "image [4, 6], patches [2, 3]");
}

TEST(PatchEmbeddings, ApplyDropoutOnlyInTraining) {
  manual_seed(4);
  PatchEmbeddings layer(oblong());
  const Tensor pixels = randn({1, 2, 4, 6});
  EXPECT_FALSE(tensors_equal(layer(pixels), layer(pixels)));
  layer.eval();
  EXPECT_TRUE(tensors_equal(layer(pixels), layer(pixels)));
}

TEST(PatchEmbeddings, RefuseSizesAndPixelsThatDoNotFit) {
  PatchEmbeddings layer(oblong());
  EXPECT_TAPE_ERROR(layer(randn({3, 2, 4, 4})), ErrorKind::shape,
                    "PatchEmbeddings: pixels must be [B, 2, 4, 6], got [3, 2, 4, 4]");
  EXPECT_TAPE_ERROR(layer(randn({2, 4, 6})), ErrorKind::shape,
                    "PatchEmbeddings: pixels must be [B, 2, 4, 6], got [2, 4, 6]");
  EXPECT_TAPE_ERROR(PatchEmbeddings({.image_size = 8, .patch_size = {2, 3}}), ErrorKind::config,
                    "PatchEmbeddings: patches [2, 3] do not divide an image [8, 8]");
  EXPECT_TAPE_ERROR(PatchEmbeddings({.image_size = 8, .patch_size = 0}), ErrorKind::config,
                    "PatchEmbeddings: patch_size must be in [1, 2147483647], got 0");
  EXPECT_TAPE_ERROR(PatchEmbeddings({.image_size = 8, .patch_size = 2, .channels = 0}), ErrorKind::config,
                    "PatchEmbeddings: channels must be at least 1, got 0");
}

}  // namespace
}  // namespace tape::nn
