#include "nn/attention/relative_bias.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "nn/attention/attention.h"
#include "nn/attention/attention_steps.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(RelativeBias, HasTheBucketsOfT5) {
  const auto expect_buckets = [](const std::string& name, const RelativeBiasOptions& options) {
    const TorchCase c("positions", "buckets " + name);
    const auto distances = c.in.at("distance").to_vector<int64_t>(), buckets = c.out.at("bucket").to_vector<int64_t>();
    for (size_t i = 0; i < distances.size(); ++i)
      EXPECT_EQ(relative_bucket(distances[i], options), buckets[i]) << name << ", distance " << distances[i];
  };
  expect_buckets("both", {});
  expect_buckets("past", {.direction = RelativeDirection::past});
  expect_buckets("both 10 of 20", {.buckets = 10, .max_distance = 20});
  expect_buckets("past 7 of 50", {.buckets = 7, .max_distance = 50, .direction = RelativeDirection::past});
}

/// T5's attention: its bias and the projections without biases, unscaled.
struct T5Attention : Module {
  Child<MultiHeadAttention> attention{this, "attention", 8, 2, MultiHeadAttentionOptions{.bias = false, .scale = 1}};
  Child<RelativeBias> bias;
  explicit T5Attention(RelativeDirection direction)
      : bias(this, "bias", 2, RelativeBiasOptions{.buckets = 6, .max_distance = 5, .direction = direction}) {}
};

void expect_t5(const std::string& name, RelativeDirection direction, const Mask& mask = {}) {
  T5Attention layer(direction);
  expect_agrees_with_torch(
      TorchCase("variants", name),
      [&](const Named& in) {
        const Tensor &x = in.at("x"), &memory = in.contains("memory") ? in.at("memory") : x;
        const Mask biased = mask & Mask::additive(layer.bias(x.size(1), memory.size(1)));
        const AttentionResult result = layer.attention->with_weights(x, memory, memory, biased);
        return Named{{"y", result.output}, {"weights", result.weights}};
      },
      &layer);
}

TEST(RelativeBias, AgreesWithT5) {
  expect_t5("t5 both", RelativeDirection::both);
  expect_t5("t5 both cross", RelativeDirection::both);
  expect_t5("t5 past", RelativeDirection::past, Mask::causal());
}

TEST(RelativeBias, UsesTheLengthOfACache) {
  RelativeBias layer(3, {.buckets = 8, .max_distance = 6});
  EXPECT_EQ(to_string(layer(2, 5).shape()), "[3, 2, 5]");
  EXPECT_TRUE(tensors_equal(layer(2, 5, 3), slice(layer(5, 5), 1, {.start = 3})));
}

TEST(UniformIfAllHidden, GivesUniformWeightsOnlyToFullyHiddenRows) {
  MultiHeadAttention attention(4, 2);
  const Tensor x = randn({2, 3, 4});
  const Mask mask = Mask::padding(tensor({{4, 4, 0}, {0, 0, 0}}, i64), 0);
  const Tensor spread = attention.with_weights(x, x, x, uniform_if_all_hidden(mask, f32)).weights;
  EXPECT_TRUE(tensors_near(spread[1], full({2, 3, 3}, 1.0 / 3), 1e-6));
  EXPECT_TRUE(tensors_equal(spread[0], attention.with_weights(x, x, x, mask).weights[0]));
  // An existing bias is preserved in the other rows.
  const Mask biased = mask & Mask::additive(randn({2, 3, 3}));
  const Tensor both = attention.with_weights(x, x, x, uniform_if_all_hidden(biased, f32)).weights;
  EXPECT_TRUE(tensors_near(both[1], full({2, 3, 3}, 1.0 / 3), 1e-6));
  EXPECT_TRUE(tensors_near(both[0], attention.with_weights(x, x, x, biased).weights[0], 1e-6));
}

TEST(UniformIfAllHidden, HoldsInHalfPrecision) {
  for (const DType dtype : {f16, bf16}) {
    MultiHeadAttention attention(4, 2);
    attention.to(dtype);
    const Tensor x = randn({1, 4, 4}).to(dtype);
    const Mask mask = Mask::padding(zeros({1, 4}, i64), 0);
    const Tensor spread = attention.with_weights(x, x, x, uniform_if_all_hidden(mask, dtype)).weights;
    EXPECT_TRUE(tensors_equal(spread.to(f32), full({1, 2, 4, 4}, 0.25))) << to_string(dtype);
  }
}

TEST(RelativeBias, PrintsItsSettings) {
  EXPECT_EQ(RelativeBias(2).settings(), "2 heads, 32 buckets, distances up to 128");
  EXPECT_EQ(RelativeBias(2, {.buckets = 8, .max_distance = 9, .direction = RelativeDirection::past}).settings(),
            "2 heads, 8 buckets of the past, distances up to 9");
}

TEST(RelativeBias, RefusesNoHeadsAndTooFewBuckets) {
  EXPECT_TAPE_ERROR(RelativeBias(0), ErrorKind::config, "RelativeBias: the number of heads must be at least 1, got 0");
  const char* sentence =
      "RelativeBias: needs at least 2 buckets per direction and a max_distance beyond half of them, got {} and {}";
  EXPECT_TAPE_ERROR(RelativeBias(2, {.buckets = 3}), ErrorKind::config, fmt::format(fmt::runtime(sentence), 1, 128));
  EXPECT_TAPE_ERROR(RelativeBias(2, {.buckets = 8, .max_distance = 2}), ErrorKind::config,
                    fmt::format(fmt::runtime(sentence), 4, 2));
}

}  // namespace
}  // namespace tape::nn
