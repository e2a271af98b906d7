// The Mask class: hidden keys, combination of masks, invalid arguments.

#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/tape/scope.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Marks the keys with non-zero weights, for equal scores.
std::string seen(const Mask& mask, int64_t queries, int64_t keys) {
  const Tensor q = zeros({1, 1, queries, 2}), k = zeros({1, 1, keys, 2});
  const Tensor weights = scaled_dot_product_attention_with_weights(q, k, k, {.mask = mask}).weights;
  std::string text;
  for (int64_t i = 0; i < weights.numel(); ++i) {
    if (i > 0 && i % keys == 0) text += ' ';
    text += weights.data<float>()[i] > 0 ? '1' : '0';
  }
  return text;
}

TEST(Mask, HidesNothingByDefault) {
  EXPECT_TRUE(Mask().empty());
  EXPECT_EQ(seen(Mask(), 2, 3), "111 111");
  EXPECT_FALSE(Mask::causal().empty());
}

TEST(Mask, CausalHidesLaterKeys) {
  EXPECT_EQ(seen(Mask::causal(), 3, 3), "100 110 111");
  EXPECT_EQ(seen(Mask::causal(2), 2, 4), "1110 1111");
  EXPECT_EQ(seen(Mask::causal(), 3, 2), "10 11 11");
}

TEST(Mask, PaddingHidesKeys) {
  EXPECT_EQ(seen(Mask::padding(tensor({{5, 0, 6}}, i64), 0), 2, 3), "101 101");
  EXPECT_EQ(seen(Mask::padding(tensor({5, 9, 9}, i64), 9), 1, 3), "100");
}

TEST(Mask, KeepShowsTheKeysThatAreTrue) {
  const Tensor keep = tensor({{1, 0, 1}, {0, 1, 1}}, boolean);
  EXPECT_EQ(seen(Mask::keep(keep), 2, 3), "101 011");
}

TEST(Mask, AdditiveIsAddedToTheScores) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(seen(Mask::additive(tensor({0, -inf, 1})), 2, 3), "101 101");
  const Tensor q = zeros({1, 1, 1, 2}), k = zeros({1, 1, 2, 2});
  const Mask mask = Mask::additive(tensor({0, std::log(3.0)}));
  EXPECT_TRUE(tensors_near(scaled_dot_product_attention_with_weights(q, k, k, {.mask = mask}).weights[0][0],
                           tensor({{0.25, 0.75}}), 1e-6));
}

TEST(Mask, CombinesWithAnd) {
  const Mask padding = Mask::padding(tensor({{5, 6, 0}}, i64), 0);
  EXPECT_EQ(seen(Mask::causal() & padding, 3, 3), "100 110 110");
  EXPECT_EQ(seen(padding & Mask::causal(), 3, 3), "100 110 110");
  EXPECT_EQ(seen(Mask() & padding, 1, 3), "110");
  EXPECT_TRUE((Mask() & Mask()).empty());
  EXPECT_EQ(seen(Mask::causal(2) & Mask::causal(1), 2, 4), "1100 1110");
  const Tensor second = tensor({{0, 1, 1}}, boolean);
  EXPECT_EQ(seen(padding & Mask::keep(second), 1, 3), "010");
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(seen(Mask::additive(tensor({-inf, 0, 0})) & Mask::additive(tensor({0, -inf, 0})), 1, 3), "001");
  EXPECT_EQ(seen(Mask::additive(tensor({-inf, 0, 0})) & padding & Mask::causal(), 3, 3), "000 010 010");
}

TEST(Mask, WindowMovesWithTheQuery) {
  EXPECT_EQ(seen(Mask::window(1, 0), 4, 4), "1000 1100 0110 0011");
  EXPECT_EQ(seen(Mask::window(0, 2), 3, 4), "1110 0111 0011");
  EXPECT_EQ(seen(Mask::window(1, 1, 2), 2, 5), "01110 00111");
  EXPECT_EQ(seen(Mask::window(2, 1) & Mask::causal(), 4, 4), "1000 1100 1110 0111");
  EXPECT_EQ(seen(Mask::window(1, 3) & Mask::window(2, 1), 3, 4), "1100 1110 0111");
  EXPECT_EQ(seen(Mask::window(1, 0) & Mask::padding(tensor({{5, 0, 6}}, i64), 0), 3, 3), "100 100 001");
  EXPECT_EQ(seen(Mask::window(INT64_MAX, INT64_MAX), 2, 2), "11 11");
  EXPECT_EQ(seen(Mask::window(0, 0, 9), 2, 2), "00 00");
  EXPECT_FALSE(Mask::window(9, 9).empty());
  EXPECT_EQ(Mask::window(3, 1, 2).first_offset(), -1);
  EXPECT_EQ(Mask::window(3, 1, 2).causal_offset(), 3);
}

TEST(Mask, SliceKeysDropsEarlierKeys) {
  const Mask mask = Mask::causal(2) & Mask::padding(tensor({{5, 6, 0, 7}}, i64), 0) & Mask::window(1, 0, 2);
  EXPECT_EQ(seen(mask, 2, 4), "0100 0001");
  EXPECT_EQ(seen(mask.slice_keys(1), 2, 3), "100 001");
  EXPECT_EQ(seen(Mask::keep(full({1, 1}, 1, boolean)).slice_keys(2), 1, 2), "11");
  EXPECT_TRUE(Mask().slice_keys(3).empty());
  EXPECT_EQ(Mask::additive(zeros({2, 4})).slice_keys(3).bias().shape(), Shape({2, 1}));
}

TEST(Mask, ReturnsItsTensors) {
  const Mask mask = Mask::causal(1) & Mask::padding(tensor({{5, 6, 0}}, i64), 0);
  EXPECT_EQ(mask.causal_offset(), 1);
  EXPECT_EQ(to_string(mask.keep_mask().shape()), "[1, 1, 1, 3]");
  EXPECT_FALSE(mask.bias().defined());
  EXPECT_TRUE(tensors_equal(mask.to_tensor(2, 3)[0][0], tensor({{1, 1, 0}, {1, 1, 0}}, boolean)));
}

TEST(Mask, FullyHiddenRowsPassTheGradientChecks) {
  Tensor keep = tensor({{1, 0, 1, 1}, {0, 0, 0, 0}, {0, 1, 1, 0}}, boolean);
  const auto attend = [&](const Tensors& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], {.mask = Mask::keep(keep)});
  };
  const Tensors inputs{randn({2, 3, 2}, f64), randn({2, 4, 2}, f64), randn({2, 4, 3}, f64)};
  EXPECT_TRUE(gradients_match(gradcheck(attend, inputs)));
  EXPECT_TRUE(gradients_match(gradgradcheck(attend, inputs)));
  const Composed composed;
  EXPECT_TRUE(gradients_match(gradcheck(attend, inputs)));
  EXPECT_TRUE(gradients_match(gradgradcheck(attend, inputs)));
}

TEST(Mask, RefusesInvalidArguments) {
  EXPECT_TAPE_ERROR(Mask::causal(-1), ErrorKind::config, "Mask::causal: the offset must not be negative, got -1");
  EXPECT_TAPE_ERROR(Mask::window(-1, 0), ErrorKind::config,
                    "Mask::window: left and right must not be negative, got -1 and 0");
  EXPECT_TAPE_ERROR(Mask::window(0, -2), ErrorKind::config,
                    "Mask::window: left and right must not be negative, got 0 and -2");
  EXPECT_TAPE_ERROR(Mask::window(0, 0, -1), ErrorKind::config, "Mask::window: the offset must not be negative, got -1");
  EXPECT_TAPE_ERROR(Mask::padding(ones({2, 3}), 0), ErrorKind::dtype, "Mask::padding: ids must be i64, got f32");
  EXPECT_TAPE_ERROR(Mask::padding(ones({2, 3, 1}, i64), 0), ErrorKind::shape,
                    "Mask::padding: ids must be [B, T] or [T], got [2, 3, 1]");
  EXPECT_TAPE_ERROR(Mask::keep(ones({2, 3})), ErrorKind::dtype,
                    "Mask::keep: needs bool, got f32; use Mask::additive for a bias on the scores");
  EXPECT_TAPE_ERROR(Mask::additive(full({2}, 1, boolean)), ErrorKind::dtype,
                    "Mask::additive: needs a floating dtype, got bool; use Mask::keep for a bool mask");
}

TEST(Mask, RefusesScoresOfAnotherShapeOrType) {
  const Tensor q = zeros({2, 3, 4, 2}), k = zeros({2, 3, 5, 2});
  const auto attend = [&](const Mask& mask) { return scaled_dot_product_attention(q, k, k, {.mask = mask}); };
  EXPECT_TAPE_ERROR(attend(Mask::keep(full({4, 4}, 1, boolean))), ErrorKind::shape,
                    "scaled_dot_product_attention: keep mask [4, 4] does not broadcast to the scores [2, 3, 4, 5]");
  EXPECT_TAPE_ERROR(attend(Mask::additive(zeros({3, 1, 4, 5}))), ErrorKind::shape,
                    "scaled_dot_product_attention: additive mask [3, 1, 4, 5] does not broadcast to the scores [2, 3, "
                    "4, 5]");
  EXPECT_TAPE_ERROR(attend(Mask::additive(zeros({5}, f64))), ErrorKind::dtype,
                    "scaled_dot_product_attention: dtypes differ: f32 and f64");
}

TEST(Mask, SourceMaskHidesPadding) {
  const Mask mask = source_mask(tensor({{5, 6, 0}, {5, 0, 0}}, i64), 0);
  EXPECT_EQ(to_string(mask.to_tensor(3, 3).shape()), "[2, 1, 1, 3]");
  EXPECT_EQ(seen(source_mask(tensor({{5, 6, 0}}, i64), 0), 2, 3), "110 110");
}

TEST(Mask, TargetMaskHidesPaddingAndLaterPositions) {
  const Tensor ids = tensor({{1, 6, 7, 0}, {1, 0, 0, 0}}, i64);
  EXPECT_EQ(to_string(target_mask(ids, 0).to_tensor(4, 4).shape()), "[2, 1, 4, 4]");
  EXPECT_EQ(seen(target_mask(tensor({{1, 6, 7, 0}}, i64), 0), 4, 4), "1000 1100 1110 1110");
  // If the target begins with the padding id, its first position is visible.
  EXPECT_EQ(seen(target_mask(tensor({{0, 6, 7, 0}}, i64), 0), 4, 4), "1000 1100 1110 1110");
  EXPECT_EQ(seen(target_mask(tensor({0, 0, 7}, i64), 0), 3, 3), "100 100 101");
}

}  // namespace
}  // namespace tape
