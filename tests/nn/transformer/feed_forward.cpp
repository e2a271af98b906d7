#include "nn/transformer/feed_forward.h"

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(FeedForward, AgreesWithTorch) {
  FeedForward relu(8, 12), gelu(8, 12, {.activation = ActivationKind::gelu});
  expect_agrees_with_torch("feed forward relu", relu);
  expect_agrees_with_torch("feed forward gelu", gelu);
}

TEST(FeedForward, AppliesDropoutBetweenItsLayers) {
  FeedForward layer(2, 1000, {.dropout = 0.5});
  int calls = 0;
  layer.dropout->register_forward_hook([&](Module&, const Tensors& in, const Tensor& out) {
    ++calls;
    EXPECT_EQ(to_string(out.shape()), "[1, 1000]");
    EXPECT_FALSE(tensors_equal(in[0], out));
    return Tensor();
  });
  layer(ones({1, 2}));
  EXPECT_EQ(calls, 1);
}

TEST(FeedForward, RefusesWidthsBelowOneAndInputsOfAnotherWidth) {
  EXPECT_TAPE_ERROR(FeedForward(0, 3), ErrorKind::config, "Linear: sizes must be at least 1, got 0 -> 3");
  EXPECT_TAPE_ERROR(FeedForward(3, 0), ErrorKind::config, "Linear: sizes must be at least 1, got 3 -> 0");
  EXPECT_TAPE_ERROR(FeedForward(3, 4, {.dropout = 2}), ErrorKind::config,
                    "Dropout: the probability must be in [0, 1), got 2");
  FeedForward layer(3, 4);
  EXPECT_TAPE_ERROR(layer(zeros({2, 5})), ErrorKind::shape,
                    "linear1: linear: inner sizes differ: x [2, 5] x weight [4, 3] (5 vs 3)");
}

}  // namespace
}  // namespace tape::nn
