#include "nn/embedding/embedding.h"

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(Embedding, AgreesWithTorch) {
  Embedding plain(6, 4), padded(6, 4, {.padding_index = 2});
  expect_agrees_with_torch("embedding", plain);
  expect_agrees_with_torch("embedding padding", padded);
}

TEST(Embedding, StartsWithADeviationThatDependsOnTheWidth) {
  manual_seed(4);
  Embedding layer(2000, 16, {.padding_index = 7});
  double squares = 0;
  for (float value : layer.weight.to_vector<float>()) squares += value * value;
  EXPECT_NEAR(squares / (1999 * 16), 1.0 / 16, 0.002);
  EXPECT_EQ(largest(layer.weight[7]), 0);
}

TEST(Embedding, NeverTrainsThePaddingRow) {
  Embedding layer(4, 3, {.padding_index = 0});
  layer(tensor({0, 1, 0}, i64)).backward({.gradient = ones({3, 3})});
  EXPECT_TRUE(tensors_equal(layer.weight.grad(), tensor({{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}})));
}

TEST(Embedding, PrintsItsSettings) {
  EXPECT_EQ(Embedding(5, 4).settings(), "5 x 4");
  EXPECT_EQ(Embedding(5, 4, {.padding_index = 0}).settings(), "5 x 4, padding 0");
}

TEST(Embedding, RefusesSizesAndPaddingOutOfRange) {
  EXPECT_TAPE_ERROR(Embedding(0, 4), ErrorKind::config, "Embedding: sizes must be at least 1, got 0 x 4");
  EXPECT_TAPE_ERROR(Embedding(4, -2), ErrorKind::config, "Embedding: sizes must be at least 1, got 4 x -2");
  EXPECT_TAPE_ERROR(Embedding(4, 2, {.padding_index = 4}), ErrorKind::config,
                    "Embedding: padding_index 4 is outside [0, 4)");
  EXPECT_TAPE_ERROR(Embedding(4, 2, {.padding_index = -1}), ErrorKind::config,
                    "Embedding: padding_index -1 is outside [0, 4)");
}

TEST(Embedding, RefusesIdsOutsideItsTable) {
  Embedding layer(4, 2);
  EXPECT_TAPE_ERROR(layer(tensor({1, 4}, i64)), ErrorKind::index, "embedding: id 4 at position 1 is outside [0, 4)");
  EXPECT_TAPE_ERROR(layer(tensor({1, -1}, i64)), ErrorKind::index, "embedding: id -1 at position 1 is outside [0, 4)");
  EXPECT_TAPE_ERROR(layer(tensor({1, 2})), ErrorKind::dtype, "embedding: the id must be i64, got f32");
}

}  // namespace
}  // namespace tape::nn
