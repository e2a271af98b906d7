#include "nn/attention/attention.h"

#include <fmt/format.h>

#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

void expect_self_as_torch(const std::string& name, const Mask& mask = {}, bool bias = true) {
  const TorchCase c("attention", name);
  MultiHeadAttention layer(8, 2, {.bias = bias});
  const Mask full = c.in.contains("ids") ? mask & Mask::padding(c.in.at("ids"), 0) : mask;
  expect_agrees_with_torch(
      c,
      [&](const Named& in) -> Named {
        const Tensor& x = in.at("x");
        if (!c.out.contains("weights")) return {{"y", layer(x, full)}};
        const AttentionResult result = layer.with_weights(x, x, x, full);
        return {{"y", result.output}, {"weights", result.weights}};
      },
      &layer);
}

void expect_cross_as_torch(const std::string& name) {
  const TorchCase c("attention", name);
  MultiHeadAttention layer(8, 2);
  const Mask mask = c.in.contains("ids") ? Mask::padding(c.in.at("ids"), 0) : Mask();
  expect_agrees_with_torch(
      c,
      [&](const Named& in) -> Named {
        const Tensor &q = in.at("q"), &k = in.at("k"), &v = in.at("v");
        if (!c.out.contains("weights")) return {{"y", layer(q, k, v, mask)}};
        const AttentionResult result = layer.with_weights(q, k, v, mask);
        return {{"y", result.output}, {"weights", result.weights}};
      },
      &layer);
}

TEST(MultiHeadAttention, AgreesWithTorch) {
  expect_self_as_torch("self");
  expect_self_as_torch("self no bias", {}, false);
  expect_self_as_torch("self causal", Mask::causal());
  expect_self_as_torch("self padding");
  expect_self_as_torch("self causal padding", Mask::causal());
  expect_cross_as_torch("cross");
  expect_cross_as_torch("cross padding");
}

TEST(MultiHeadAttention, ReturnsTheWeightsOfTorch) {
  expect_self_as_torch("self weights");
  expect_self_as_torch("self causal padding weights", Mask::causal());
  expect_cross_as_torch("cross padding weights");
}

TEST(MultiHeadAttention, SharesKeysAndValuesLikeLlama) {
  for (const int64_t kv_heads : {1, 2, 4}) {
    MultiHeadAttention layer(8, 4, {.kv_heads = kv_heads});
    expect_agrees_with_torch(
        TorchCase("variants", fmt::format("grouped {} of 4", kv_heads)),
        [&](const Named& in) {
          const Tensor& x = in.at("x");
          const AttentionResult result = layer.with_weights(x, x, x, Mask::causal());
          EXPECT_TRUE(tensors_near(layer(x, Mask::causal()), result.output, 1e-6));
          return Named{{"y", result.output}, {"weights", result.weights}};
        },
        &layer);
  }
}

void expect_scaled_as_torch(const std::string& name, const std::function<AttentionOptions(const Named&)>& options) {
  expect_agrees_with_torch(TorchCase("attention", name), [&](const Named& in) {
    return Named{{"y", scaled_dot_product_attention(in.at("query"), in.at("key"), in.at("value"), options(in))}};
  });
}

TEST(ScaledDotProductAttention, AgreesWithTorch) {
  using Options = AttentionOptions;
  expect_scaled_as_torch("scaled", [](const Named&) { return Options{}; });
  expect_scaled_as_torch("scaled 0.3", [](const Named&) { return Options{.scale = 0.3}; });
  expect_scaled_as_torch("scaled keep", [](const Named& in) { return Options{.mask = Mask::keep(in.at("mask"))}; });
  expect_scaled_as_torch("scaled additive",
                         [](const Named& in) { return Options{.mask = Mask::additive(in.at("mask"))}; });
  expect_scaled_as_torch("scaled causal", [](const Named&) { return Options{.mask = Mask::causal()}; });
}

TEST(MultiHeadAttention, ReturnsTheSameOutputWithWeights) {
  manual_seed(1);
  MultiHeadAttention layer(6, 3);
  layer.to(f64);
  const Tensor x = randn({2, 4, 6}, f64);
  const AttentionResult result = layer.with_weights(x, x, x, Mask::causal());
  EXPECT_TRUE(tensors_near(result.output, layer(x, Mask::causal()), 1e-14));
  EXPECT_EQ(to_string(result.weights.shape()), "[2, 3, 4, 4]");
}

TEST(MultiHeadAttention, EqualsCausalAttentionWithACache) {
  manual_seed(2);
  MultiHeadAttention layer(6, 2);
  layer.to(f64);
  const Tensor x = randn({2, 5, 6}, f64);
  const Tensor whole = layer(x, Mask::causal());
  KeyValueCache cache;
  Tensors parts;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 2}, {2, 3}, {3, 5}}) {
    EXPECT_EQ(cache.length(), first);
    parts.push_back(layer.forward_cached(slice(x, 1, {.start = first, .end = last}), cache));
  }
  EXPECT_EQ(cache.length(), 5);
  EXPECT_TRUE(tensors_near(cat(parts, 1), whole, 1e-13));
}

TEST(MultiHeadAttention, ProjectsAMemoryOnce) {
  manual_seed(3);
  MultiHeadAttention layer(6, 2);
  layer.to(f64);
  const Tensor q = randn({2, 3, 6}, f64), memory = randn({2, 4, 6}, f64);
  const Mask mask = Mask::padding(tensor({{1, 1, 1, 0}, {1, 1, 0, 0}}, i64), 0);
  EXPECT_TRUE(
      tensors_near(layer.forward_projected(q, layer.project(memory), mask), layer(q, memory, memory, mask), 1e-13));
}

TEST(MultiHeadAttention, AcceptsEmptyBatchesAndLengths) {
  MultiHeadAttention layer(4, 2);
  EXPECT_EQ(to_string(layer(zeros({0, 3, 4})).shape()), "[0, 3, 4]");
  EXPECT_EQ(to_string(layer(zeros({2, 0, 4})).shape()), "[2, 0, 4]");
  // Without keys the attention output is zero, so the result is the bias of the output projection.
  const Tensor none = zeros({2, 0, 4});
  EXPECT_EQ(largest(layer(ones({2, 3, 4}), none, none)), 0);
}

TEST(MultiHeadAttention, PrintsItsSettings) {
  EXPECT_EQ(MultiHeadAttention(4, 2).settings(), "4, 2 heads");
  EXPECT_EQ(MultiHeadAttention(4, 2, {.dropout = 0.1}).settings(), "4, 2 heads, dropout 0.1");
  EXPECT_EQ(MultiHeadAttention(4, 2, {.kv_heads = 2}).settings(), "4, 2 heads");
  EXPECT_EQ(MultiHeadAttention(4, 2, {.dropout = 0.1, .kv_heads = 1, .scale = 1}).settings(),
            "4, 2 heads, 1 kv heads, scale 1, dropout 0.1");
}

TEST(MultiHeadAttention, RefusesWidthsThatHeadsDoNotDivide) {
  const auto error = [](int64_t width, int64_t heads) {
    return fmt::format("MultiHeadAttention: d_model {} is not divisible by heads {}", width, heads);
  };
  EXPECT_TAPE_ERROR(MultiHeadAttention(500, 8), ErrorKind::config, error(500, 8));
  EXPECT_TAPE_ERROR(MultiHeadAttention(4, 0), ErrorKind::config, error(4, 0));
  EXPECT_TAPE_ERROR(MultiHeadAttention(0, 2), ErrorKind::config, error(0, 2));
  EXPECT_TAPE_ERROR(MultiHeadAttention(4, 2, {.dropout = -1}), ErrorKind::config,
                    "MultiHeadAttention: the probability must be in [0, 1), got -1");
  EXPECT_TAPE_ERROR(MultiHeadAttention(8, 4, {.kv_heads = 3}), ErrorKind::config,
                    "MultiHeadAttention: heads 4 is not divisible by kv_heads 3");
  EXPECT_TAPE_ERROR(MultiHeadAttention(8, 4, {.kv_heads = -1}), ErrorKind::config,
                    "MultiHeadAttention: heads 4 is not divisible by kv_heads -1");
}

TEST(MultiHeadAttention, RefusesInputsAndMasksOfOtherShapes) {
  MultiHeadAttention layer(4, 2);
  EXPECT_TAPE_ERROR(layer(zeros({2, 3, 5})), ErrorKind::shape,
                    "query: linear: inner sizes differ: x [2, 3, 5] x weight [4, 4] (5 vs 4)");
  EXPECT_TAPE_ERROR(layer(zeros({3, 4})), ErrorKind::shape,
                    "multi_head_attention: query must be [B, T, H D], got [3, 4]");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3, 4}), zeros({2, 5, 4}), zeros({2, 6, 4})), ErrorKind::shape,
                    "scaled_dot_product_attention: key and value lengths differ: query [2, 3, 4], key [2, 5, 4], value "
                    "[2, 6, 4] (5 vs 6)");
  EXPECT_TAPE_ERROR(
      layer(zeros({2, 3, 4}), Mask::padding(tensor({{1, 0}, {1, 1}}, i64), 0)), ErrorKind::shape,
      "scaled_dot_product_attention: keep mask [2, 1, 1, 2] does not broadcast to the scores [2, 2, 3, 3]");
}

}  // namespace
}  // namespace tape::nn
