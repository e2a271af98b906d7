#include "nn/attention/relative_attention.h"

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "nn/attention/attention_steps.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

void expect_shaw(const std::string& name, int64_t max_distance, const Mask& mask = {}) {
  const TorchCase c("variants", name);
  RelativeAttention layer(8, 2, {.max_distance = max_distance});
  const Mask full = c.in.contains("ids") ? mask & Mask::padding(c.in.at("ids"), 0) : mask;
  expect_agrees_with_torch(
      c,
      [&](const Named& in) {
        const AttentionResult result = layer.with_weights(in.at("q"), in.at("k"), in.at("v"), full);
        return Named{{"y", result.output}, {"weights", result.weights}};
      },
      &layer);
}

TEST(RelativeAttention, AgreesWithTheFormulasOfThePaper) {
  expect_shaw("shaw self", 2);
  expect_shaw("shaw self causal", 1, Mask::causal());
  expect_shaw("shaw cross padding", 2);
}

/// Returns the context if all values are `value` and all position rows `position`: the sum of the weights that are not
/// dropped, times value + position.
Tensor context_of(RelativeAttention& layer, const Tensor& x, double value, double position) {
  const NoGrad no_grad;
  layer.value->weight.zero_(), layer.value->bias.fill_(value), layer.value_positions.fill_(position);
  layer.output->weight.copy_(eye(4, f64)), layer.output->bias.zero_();
  generator(Stream::dropout).set_state(5, 0);
  return layer(x);
}

TEST(RelativeAttention, DropsTheSameWeightsForValuesAndPositions) {
  manual_seed(1);
  RelativeAttention layer(4, 1, {.dropout = 0.5});
  layer.to(f64);
  const Tensor x = randn({1, 6, 4}, f64), by_values = context_of(layer, x, 1, 0);
  EXPECT_GT(largest(by_values - 1), 0.1);
  EXPECT_TRUE(tensors_near(context_of(layer, x, 0, 1), by_values, 1e-14));
  layer.eval();
  EXPECT_TRUE(tensors_near(context_of(layer, x, 1, 1), full({1, 6, 4}, 2, f64), 1e-14));
}

TEST(RelativeAttention, ReturnsZeroForAQueryWithoutVisibleKeys) {
  RelativeAttention layer(4, 2);
  const Mask nothing = Mask::keep(zeros({1, 1, 1, 3}, boolean));
  Tensor x = randn({2, 3, 4}).requires_grad_();
  const AttentionResult result = layer.with_weights(x, x, x, nothing);
  EXPECT_EQ(largest(result.output), 0);  // the output's bias is zero
  EXPECT_EQ(largest(result.weights), 0);
  sum(result.output * randn({2, 3, 4})).backward();
  EXPECT_EQ(largest(x.grad()), 0);
  EXPECT_EQ(largest(layer.key_positions.grad()), 0);
}

TEST(RelativeAttention, LooksNoFurtherThanAWindow) {
  RelativeAttention layer(4, 2);
  const Tensor x = randn({2, 5, 4});
  const Mask window = Mask::window(1, 0), padding = Mask::padding(tensor({{1, 1, 1, 1, 0}, {1, 1, 1, 1, 1}}, i64), 0);
  for (const Mask& mask : {window, window & padding, Mask::causal() & padding}) {
    const AttentionResult result = layer.with_weights(x, x, x, mask),
                          expected = layer.with_weights(x, x, x, Mask::keep(mask.to_tensor(5, 5)));
    EXPECT_TRUE(tensors_equal(result.weights, expected.weights));
    EXPECT_TRUE(tensors_equal(result.output, expected.output));
  }
}

TEST(RelativeAttention, AcceptsEmptyLengths) {
  RelativeAttention layer(4, 2);
  const Tensor none = zeros({2, 0, 4});
  EXPECT_EQ(to_string(layer(none).shape()), "[2, 0, 4]");
  EXPECT_EQ(largest(layer(ones({2, 3, 4}), none, none)), 0);
}

TEST(RelativeAttention, PrintsItsSettings) {
  EXPECT_EQ(RelativeAttention(4, 2).settings(), "4, 2 heads, distances up to 16");
  EXPECT_EQ(RelativeAttention(4, 2, {.max_distance = 3, .dropout = 0.1}).settings(),
            "4, 2 heads, distances up to 3, dropout 0.1");
}

TEST(RelativeAttention, RefusesOptionsOutOfRangeAndInputsOfAnotherRank) {
  EXPECT_TAPE_ERROR(RelativeAttention(6, 4), ErrorKind::config,
                    "RelativeAttention: d_model 6 is not divisible by heads 4");
  EXPECT_TAPE_ERROR(RelativeAttention(4, 2, {.max_distance = -1}), ErrorKind::config,
                    "RelativeAttention: max_distance must not be negative, got -1");
  EXPECT_TAPE_ERROR(RelativeAttention(4, 2, {.dropout = 1}), ErrorKind::config,
                    "RelativeAttention: the probability must be in [0, 1), got 1");
  RelativeAttention layer(4, 2);
  EXPECT_TAPE_ERROR(layer(zeros({3, 4})), ErrorKind::shape,
                    "split_heads: x must be [B, T, H D] with 2 heads, got [3, 4]");
  EXPECT_TAPE_ERROR(merge_heads(zeros({3, 4})), ErrorKind::shape, "merge_heads: x must be [B, H, T, D], got [3, 4]");
}

}  // namespace
}  // namespace tape::nn
