#include "nn/transformer/gated_feed_forward.h"

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

void expect_gated_as_torch(const std::string& name, GatedFeedForward& layer) {
  expect_agrees_with_torch(
      TorchCase("variants", name),
      [&](const Named& in) {
        return Named{{"y", layer(in.at("input"))}};
      },
      &layer);
}

TEST(GatedFeedForward, AgreesWithLlama) {
  GatedFeedForward swiglu(8, 12), geglu(8, 12, {.activation = ActivationKind::gelu, .bias = true});
  expect_gated_as_torch("swiglu", swiglu);
  expect_gated_as_torch("geglu bias", geglu);
}

TEST(GatedFeedForward, AppliesDropoutToTheGatedValues) {
  GatedFeedForward layer(2, 1000, {.dropout = 0.5});
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

TEST(GatedFeedForward, RefusesWidthsBelowOneAndInputsOfAnotherWidth) {
  EXPECT_TAPE_ERROR(GatedFeedForward(3, 0), ErrorKind::config, "Linear: sizes must be at least 1, got 3 -> 0");
  EXPECT_TAPE_ERROR(GatedFeedForward(3, 4, {.dropout = 1}), ErrorKind::config,
                    "Dropout: the probability must be in [0, 1), got 1");
  GatedFeedForward layer(3, 4);
  EXPECT_TAPE_ERROR(layer(zeros({2, 5})), ErrorKind::shape,
                    "gate: linear: inner sizes differ: x [2, 5] x weight [4, 3] (5 vs 3)");
}

}  // namespace
}  // namespace tape::nn
