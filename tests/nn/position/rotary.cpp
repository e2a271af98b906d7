#include "nn/position/rotary.h"

#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "nn/attention/attention.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

void expect_turned_as_torch(const std::string& name, const RotaryOptions& options, int64_t first = 0) {
  Rotary layer(8, options);
  expect_agrees_with_torch(
      TorchCase("positions", name),
      [&](const Named& in) {
        return Named{{"y", layer(in.at("input"), first)}};
      },
      &layer);
}

TEST(Rotary, AgreesWithGptNeoX) {
  expect_turned_as_torch("rotary halves", {});
  expect_turned_as_torch("rotary halves later", {.theta = 500}, 5);
  expect_turned_as_torch("rotary halves quarter", {.fraction = 0.25});
}

TEST(Rotary, AgreesWithGptJ) {
  expect_turned_as_torch("rotary interleaved", {.pairing = RotaryPairing::interleaved});
  expect_turned_as_torch("rotary interleaved later half", {.pairing = RotaryPairing::interleaved, .fraction = 0.5}, 3);
}

TEST(Rotary, MakesProductsDependOnTheDistance) {
  for (const RotaryPairing pairing : {RotaryPairing::halves, RotaryPairing::interleaved}) {
    Rotary layer(6, {.pairing = pairing});
    const Tensor q = randn({1, 1, 6}, f64), k = randn({1, 1, 6}, f64);
    const double near = sum(layer(q, 7) * layer(k, 3)).item(), far = sum(layer(q, 4004) * layer(k, 4000)).item();
    EXPECT_NEAR(near, far, 1e-11);
    EXPECT_GT(std::abs(near - sum(layer(q, 8) * layer(k, 3)).item()), 1e-4);
  }
}

TEST(MultiHeadAttention, AppliesRotaryEmbeddingLikeLlama) {
  MultiHeadAttention layer(8, 2, {.kv_heads = 1, .rotary = RotaryOptions{.theta = 100}});
  expect_agrees_with_torch(
      TorchCase("variants", "rotary 1 of 2"),
      [&](const Named& in) {
        const Tensor& x = in.at("x");
        const AttentionResult result = layer.with_weights(x, x, x, Mask::causal());
        return Named{{"y", result.output}, {"weights", result.weights}};
      },
      &layer);
}

TEST(MultiHeadAttention, EqualsCausalAttentionWithRotaryEmbeddingAndACache) {
  manual_seed(2);
  MultiHeadAttention layer(8, 4, {.kv_heads = 2, .rotary = RotaryOptions{.pairing = RotaryPairing::interleaved}});
  layer.to(f64);
  const Tensor x = randn({2, 5, 8}, f64);
  const Tensor whole = layer(x, Mask::causal());
  KeyValueCache cache;
  Tensors parts;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 2}, {2, 3}, {3, 5}})
    parts.push_back(layer.forward_cached(slice(x, 1, {.start = first, .end = last}), cache));
  EXPECT_EQ(to_string(cache.key.shape()), "[2, 5, 4]");  // two heads of width 2, not four
  EXPECT_TRUE(tensors_near(cat(parts, 1), whole, 1e-13));
  const Tensor memory = randn({2, 4, 8}, f64);
  EXPECT_TRUE(tensors_near(layer.forward_projected(x, layer.project(memory)), layer(x, memory, memory), 1e-13));
}

TEST(Rotary, AcceptsEmptyInputs) {
  Rotary layer(4);
  EXPECT_EQ(to_string(layer(zeros({2, 0, 8})).shape()), "[2, 0, 8]");
  EXPECT_EQ(to_string(layer(zeros({0, 3, 8})).shape()), "[0, 3, 8]");
}

TEST(Rotary, PrintsItsSettings) {
  EXPECT_EQ(Rotary(8).settings(), "8 of 8 columns, halves, theta 10000");
  EXPECT_EQ(Rotary(8, {.pairing = RotaryPairing::interleaved, .theta = 5e5, .fraction = 0.25}).settings(),
            "2 of 8 columns, interleaved, theta 500000");
}

TEST(Rotary, RefusesColumnsThatCannotBePaired) {
  EXPECT_TAPE_ERROR(Rotary(5), ErrorKind::config, "Rotary: cannot rotate 5 of 5 columns per head in pairs");
  EXPECT_TAPE_ERROR(Rotary(0), ErrorKind::config, "Rotary: cannot rotate 0 of 0 columns per head in pairs");
  EXPECT_TAPE_ERROR(Rotary(8, {.fraction = 0.3}), ErrorKind::config,
                    "Rotary: cannot rotate 2.4 of 8 columns per head in pairs");
  EXPECT_TAPE_ERROR(Rotary(8, {.fraction = 1.5}), ErrorKind::config,
                    "Rotary: theta must be positive and the fraction in (0, 1], got 10000 and 1.5");
  EXPECT_TAPE_ERROR(Rotary(8, {.theta = NAN}), ErrorKind::config,
                    "Rotary: theta must be positive and the fraction in (0, 1], got nan and 1");
  EXPECT_TAPE_ERROR(MultiHeadAttention(6, 2, {.rotary = RotaryOptions{}}), ErrorKind::config,
                    "Rotary: cannot rotate 3 of 3 columns per head in pairs");
}

TEST(Rotary, RefusesInputsOfAnotherWidthAndNegativePositions) {
  Rotary layer(4);
  EXPECT_TAPE_ERROR(layer(zeros({2, 3, 6})), ErrorKind::shape, "Rotary: x must be [B, T, H 4], got [2, 3, 6]");
  EXPECT_TAPE_ERROR(layer(zeros({3, 4})), ErrorKind::shape, "Rotary: x must be [B, T, H 4], got [3, 4]");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3, 4}), -1), ErrorKind::index,
                    "Positions: a position must be in [0, 2^53), got -1");
}

}  // namespace
}  // namespace tape::nn
