#include "autograd/ops/product/linear_max.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/kernels/runtime/common/work.h"
#include "autograd/ops.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/random.h"
#include "autograd/tape/scope.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

constexpr int64_t kOut = 3000, kIn = 130;  // large enough for int8 candidates

void expect_same(const TopK& found, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const std::string& what) {
  const NoGrad no_grad;
  const Tensor y = linear(x, weight, bias);
  const Shape one = x.shape().with(x.rank() - 1, 1);
  ASSERT_EQ(found.indices.shape(), one) << what;
  ASSERT_EQ(found.values.shape(), one) << what;
  EXPECT_TRUE(tensors_equal(found.indices, argmax(y, -1, Dims::keep))) << what;
  EXPECT_TRUE(tensors_equal(found.values, max(y, {-1}, Dims::keep))) << what;
}

/// Expects equal bits, and NaN at the same positions.
void expect_same(const Tensor& found, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.shape(), expected.shape()) << what;
  ASSERT_EQ(found.dtype(), expected.dtype()) << what;
  const Tensor nan = isnan(expected);
  EXPECT_TRUE(tensors_equal(isnan(found), nan)) << what;
  EXPECT_TRUE(tensors_equal(masked_fill(found, nan, 0), masked_fill(expected, nan, 0))) << what;
}

/// keep_top_k() by its definition, from a full sort.
Tensor sorted_top_k(const Tensor& y, int64_t k, int64_t words) {
  const Tensor first = slice(y, -1, {.end = words});
  const Tensor numbers = masked_fill(first, isnan(first), -INFINITY);  // NaN stays, and does not count among the k
  const Tensor last = slice(sort(numbers, -1, {.descending = true}).values, -1, {.start = k - 1, .end = k});
  return where(lt(first, last), scalar(-INFINITY, first.dtype()), first);
}

class LinearMax : public testing::Test {
 protected:
  LinearMax() {
    keep_packed(weight, true);
    for (int64_t i = 0; i < kReadsBeforeInt8; ++i) linear_max(zeros({kIn}), weight);
  }
  ~LinearMax() override { keep_packed(weight, false); }
  void expect_as_composed(const Tensor& x, const std::string& what) {
    expect_same(linear_max(x, weight, bias), x, weight, bias, what + ", with bias");
    expect_same(linear_max(x, weight), x, weight, Tensor(), what);
    const NoGrad no_grad;
    for (const int64_t words : {kOut, int64_t{2100}}) {
      for (const int64_t k : {1, 3, 20})
        expect_same(linear_top_k(x, weight, bias, k, words), sorted_top_k(linear(x, weight, bias), k, words),
                    what + ", the largest " + std::to_string(k) + " of " + std::to_string(words));
      const TopK best = linear_max(x, weight, bias, words);
      const Tensor y = slice(linear(x, weight, bias), -1, {.end = words});
      EXPECT_TRUE(tensors_equal(best.indices, argmax(y, -1, Dims::keep))) << what;
      expect_same(best.values, gather(y, -1, best.indices), what);
    }
  }

  Generator stream{11};
  Tensor weight = randn({kOut, kIn}, f32, stream), bias = randn({kOut}, f32, stream);
};

TEST_F(LinearMax, IsBitwiseEqualToTheFullProduct) {
  for (int i = 0; i < 200; ++i) expect_as_composed(randn({1, kIn}, f32, stream) * std::pow(10, i % 7 - 3), "random");
  expect_as_composed(randn({kIn}, f32, stream), "a vector");
  expect_as_composed(randn({1, 1, kIn}, f32, stream), "three axes");
  for (const int64_t rows : {2, 7, 20})
    expect_as_composed(randn({rows, kIn}, f32, stream), std::to_string(rows) + " rows");
  Tensor x = randn({kIn}, f32, stream);
  x.mutable_data<float>()[9] = 200;
  expect_as_composed(x, "an outlier");
  expect_as_composed(randn({2, 5, kIn}, f32, stream), "rows in two axes");
  expect_as_composed(empty({0, kIn}), "no rows");
}

/// Share of the full product that is computed; equal values alone would not show that a part sufficed.
TEST_F(LinearMax, MultipliesFewRowsOfTheWeight) {
  const auto share_multiplied = [&](const Tensor& x) {
    const double before = kernels::flop_counter();
    linear_max(x, weight);
    return (kernels::flop_counter() - before) / static_cast<double>(2 * x.numel() * kOut);
  };
  Tensor x = randn({kIn}, f32, stream);
  const double share = share_multiplied(x);
  EXPECT_GT(share, 0);
  EXPECT_LE(share, 0.125);
  x.mutable_data<float>()[0] = NAN;
  EXPECT_EQ(share_multiplied(x), 1) << "the full product for NaN in x";
  EXPECT_EQ(share_multiplied(randn({2, kIn}, f32, stream)), 1) << "several rows";
}

TEST_F(LinearMax, MultipliesFewRowsOfTheWeightForTheTopKOfOneRow) {
  const auto share_multiplied = [&](const Tensor& x, int64_t k, int64_t words) {
    const double before = kernels::flop_counter();
    linear_top_k(x, weight, bias, k, words);
    return (kernels::flop_counter() - before) / static_cast<double>(2 * x.numel() * kOut);
  };
  for (int i = 0; i < 20; ++i) {
    const Tensor x = randn({kIn}, f32, stream);
    EXPECT_LE(share_multiplied(x, 3, 0), 0.125);
    EXPECT_LE(share_multiplied(x, 3, 2000), 0.125);
    EXPECT_EQ(share_multiplied(x, 30, 0), 1) << "k is more than half the number of groups";
    EXPECT_EQ(share_multiplied(randn({2, kIn}, f32, stream), 3, 0), 1) << "several rows";
  }
}

/// Rows that differ in single bits: rounding of their products decides which is the largest.
TEST_F(LinearMax, AgreesWithTheFullProductForNearlyEqualRows) {
  const Tensor one = randn({kIn}, f32, stream);
  for (int64_t row = 0; row < kOut; row += 20) {
    float* const to = weight.mutable_data<float>() + row * kIn;
    std::copy_n(one.data<float>(), kIn, to);
    to[row % kIn] = std::nextafter(to[row % kIn], row % 40 == 0 ? 10.0F : -10.0F);
  }
  for (int i = 0; i < 50; ++i) expect_as_composed(one + randn({kIn}, f32, stream) * 0.1, "near");
}

TEST_F(LinearMax, ReturnsTheFirstOfEqualRows) {
  const Tensor one = randn({kIn}, f32, stream);
  for (const int64_t row : {2500, 70, 71, 1999})
    std::copy_n(one.data<float>(), kIn, weight.mutable_data<float>() + row * kIn);
  const TopK found = linear_max(one, weight);
  EXPECT_EQ(found.indices.item(), 70);
}

TEST_F(LinearMax, ReadsTheWholeWeightIfAllRowsAreEqual) {
  weight.copy_(ones({kOut, kIn}));
  expect_as_composed(randn({kIn}, f32, stream), "all rows equal");
  expect_as_composed(zeros({kIn}), "zeros");
}

TEST_F(LinearMax, HandlesNaNAndInfinity) {
  for (const int64_t rows : {1, 3})
    for (const float value : {std::nanf(""), INFINITY, -INFINITY, 3e38F}) {
      const Tensor x = randn({rows, kIn}, f32, stream), before = weight.clone();
      weight.mutable_data<float>()[1234 * kIn + 5] = value;
      expect_as_composed(x, "a weight of " + std::to_string(value));
      Tensor other = x.clone();
      other.mutable_data<float>()[7] = value;
      expect_as_composed(other, "NaN or infinity in weight and input");
      weight.copy_(before);
      expect_as_composed(other, "an input of " + std::to_string(value));
      const float kept = bias.data<float>()[99];
      bias.mutable_data<float>()[99] = value;
      expect_as_composed(x, "a bias of " + std::to_string(value));
      bias.mutable_data<float>()[99] = kept;
    }
}

/// Float sums may overflow in intermediate steps even if the result does not.
TEST_F(LinearMax, HandlesIntermediateOverflow) {
  weight.copy_(ones({kOut, kIn}) * 1e-3);
  for (int64_t j = 0; j < kIn; ++j) weight.mutable_data<float>()[70 * kIn + j] = j < kIn / 2 ? 3e37F : -3e37F;
  expect_as_composed(ones({kIn}), "ones");
}

TEST_F(LinearMax, QuantizesTheWeightAfterSomeReads) {
  EXPECT_TRUE(read_int8(weight).held);
  Tensor other = weight.clone();
  keep_packed(other, true);
  for (int64_t i = 0; i < kReadsBeforeInt8; ++i) EXPECT_FALSE(read_int8(other).held) << i;
  EXPECT_TRUE(read_int8(other).held);
  keep_packed(other, false);
  EXPECT_FALSE(read_int8(other).held) << "released by keep_packed(false)";
  EXPECT_FALSE(read_int8(randn({kOut, kIn}, f64)).held);
}

TEST_F(LinearMax, FollowsWritesToTheWeight) {
  const Tensor x = randn({kIn}, f32, stream);
  expect_as_composed(x, "before");
  for (int64_t row : {0, 17, 2999}) {
    Tensor(weight[row]).copy_(x * (10 + static_cast<double>(row)));
    EXPECT_EQ(linear_max(x, weight).indices.item(), row);
    expect_as_composed(x, "after");
  }
}

TEST_F(LinearMax, SupportsOverlappingSlicesOfAWeight) {
  const Tensor x = randn({kIn}, f32, stream);
  const Tensor front = slice(weight, 0, {.end = 2100}), back = slice(weight, 0, {.start = 900});
  for (int i = 0; i < 2; ++i)
    for (const Tensor& part : {front, back}) expect_same(linear_max(x, part), x, part, Tensor(), "a part");
}

TEST(LinearMaxOfAnyWeight, AgreesWithTheFullProduct) {
  Generator stream(12);
  const Tensor x = randn({2, 3, 8}, f64, stream), weight = randn({5, 8}, f64, stream), bias = randn({5}, f64, stream);
  expect_same(linear_max(x, weight, bias), x, weight, bias, "f64");
  const TopK half = linear_max(x.to(bf16), weight.to(bf16), bias.to(bf16));
  const Tensor y = linear(x.to(bf16), weight.to(bf16), bias.to(bf16));
  EXPECT_TRUE(tensors_equal(half.indices, argmax(y, -1, Dims::keep)));
  EXPECT_TRUE(tensors_equal(half.values, max(y.to(f32), {-1}, Dims::keep)));
  const Tensor wide = randn({kOut, kIn}, f64, stream), row = randn({kIn}, f64, stream);
  keep_packed(wide, true);
  expect_same(linear_max(row, wide), row, wide, Tensor(), "a large weight of f64");
  keep_packed(wide, false);
}

TEST(LinearMaxOfAnyWeight, HasNoGradient) {
  const Tensor x = randn({3, 4}).requires_grad_(), weight = randn({5, 4}).requires_grad_();
  const TopK found = linear_max(x, weight);
  EXPECT_FALSE(found.values.requires_grad());
  EXPECT_FALSE(found.indices.requires_grad());
  for (const int64_t k : {2, 5}) {
    EXPECT_FALSE(linear_top_k(x, weight, {}, k).requires_grad());
    EXPECT_FALSE(keep_top_k(x, k).requires_grad());
  }
}

TEST(KeepTopK, KeepsTheLargestIncludingTies) {
  constexpr float kNever = -INFINITY;
  const Tensor x = tensor({{3, 1, 2, 2, 0}, {-1, -1, -1, -1, -1}}, f32);
  EXPECT_TRUE(tensors_equal(keep_top_k(x, 2), tensor({{3, kNever, 2, 2, kNever}, {-1, -1, -1, -1, -1}})));
  EXPECT_TRUE(tensors_equal(keep_top_k(x, 5), x));
  EXPECT_FALSE(keep_top_k(x, 5).shares_storage(x));
  EXPECT_TRUE(tensors_equal(keep_top_k(x, 1), tensor({{3, kNever, kNever, kNever, kNever}, {-1, -1, -1, -1, -1}})));
  EXPECT_TRUE(tensors_equal(keep_top_k(x, 2, 3), tensor({{3, kNever, 2}, {-1, -1, -1}})));
  for (const int64_t k : {5, 6, 1000}) EXPECT_TRUE(tensors_equal(keep_top_k(x, k), x)) << k;
  EXPECT_EQ(keep_top_k(x.to(bf16), 2).dtype(), f32);
  EXPECT_TRUE(tensors_equal(keep_top_k(x.to(bf16), 2), keep_top_k(x, 2)));
  EXPECT_EQ(keep_top_k(empty({0, 4}), 2).shape(), (Shape{0, 4}));
  expect_same(keep_top_k(tensor({1, NAN, 3, 2}, f32), 2), tensor({kNever, NAN, 3, 2}, f32), "NaN stays");
}

TEST(KeepTopK, RefusesCountsOutOfRange) {
  const Tensor x = randn({3, 4}), weight = randn({5, 4});
  EXPECT_TAPE_ERROR(keep_top_k(x, 0), ErrorKind::config, "keep_top_k: k must be at least 1, got 0");
  EXPECT_TAPE_ERROR(linear_top_k(x, weight, {}, -1), ErrorKind::config, "linear_top_k: k must be at least 1, got -1");
  EXPECT_TAPE_ERROR(keep_top_k(x, 1, 5), ErrorKind::config, "keep_top_k: vocab_limit must be from 0 (all) to 4, got 5");
  EXPECT_TAPE_ERROR(max_with_index(x, -1), ErrorKind::config,
                    "max_with_index: vocab_limit must be from 0 (all) to 4, got -1");
  EXPECT_TAPE_ERROR(linear_max(x, weight, {}, 6), ErrorKind::config,
                    "linear_max: vocab_limit must be from 0 (all) to 5, got 6");
  EXPECT_TAPE_ERROR(linear_top_k(x, weight, {}, 1, 6), ErrorKind::config,
                    "linear_top_k: vocab_limit must be from 0 (all) to 5, got 6");
  EXPECT_TAPE_ERROR(keep_top_k(scalar(1), 1), ErrorKind::shape, "keep_top_k: x must have an axis");
}

TEST(LinearMaxOfAnyWeight, RefusesTheSameArgumentsAsLinear) {
  EXPECT_TAPE_ERROR(linear_max(randn({3, 4}), randn({5, 3})), ErrorKind::shape,
                    "linear_max: inner sizes differ: x [3, 4] x weight [5, 3] (4 vs 3)");
}

}  // namespace
}  // namespace tape
