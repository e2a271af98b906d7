#include "autograd/ops/convolution/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/autograd/ops/rounded_f32.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Pooling, ReturnsTheMaxOrMeanOfEachWindow) {
  const Tensor x = sample_normal({2, 3, 4, 5});
  EXPECT_TRUE(tensors_equal(max_pool2d(x, {4, 5}), max(x, {2, 3}, Dims::keep)));
  EXPECT_TRUE(tensors_near(avg_pool2d(x, {4, 5}), mean(x, {2, 3}, Dims::keep), 1e-14));
  EXPECT_TRUE(tensors_near(adaptive_avg_pool2d(x, 1), mean(x, {2, 3}, Dims::keep), 1e-14));
}

TEST(Pooling, SendsTheGradientToTheFirstMaximum) {
  Tensor x = tensor({{2, 2, 1, 1}}).requires_grad_();
  sum(max_pool1d(x, 2)).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{1, 0, 1, 0}})));
}

TEST(Pooling, TreatsNaNAsTheLargestAndMinusInfinityAsAValue) {
  const MaxPool best = max_pool1d_with_indices(tensor({{NAN, 1, -INFINITY, -INFINITY}}), 2);
  EXPECT_TRUE(tensors_equal(best.values, tensor({{NAN, -INFINITY}})));
  EXPECT_TRUE(tensors_equal(best.indices, tensor({{0, 2}}, i64)));
}

/// Padding is -inf as well.
TEST(Pooling, FindsTheSameIndicesInAComposedScope) {
  const Tensor x = tensor({{-INFINITY, -INFINITY, 1, NAN, 2, 2, -INFINITY}});
  const MaxPoolOptions options{.stride = 1, .padding = 1};
  const MaxPool best = max_pool1d_with_indices(x, 3, options);
  const Composed composed;
  const MaxPool unfused = max_pool1d_with_indices(x, 3, options);
  EXPECT_TRUE(tensors_equal(unfused.values, best.values));
  EXPECT_TRUE(tensors_equal(unfused.indices, best.indices));
}

TEST(Pooling, ComputesHalvesInF32) {
  const Tensors x{sample_normal({2, 2, 5, 6})};
  expect_rounded_f32(x, [](const Tensors& in) { return max_pool2d(in[0], 3, {.stride = 2, .padding = 1}); });
  expect_rounded_f32(x, [](const Tensors& in) { return avg_pool2d(in[0], 3, {.stride = 2, .padding = 1}); });
  expect_rounded_f32(x, [](const Tensors& in) { return adaptive_avg_pool2d(in[0], {2, 4}); });
  EXPECT_TRUE(tensors_equal(max_pool1d_with_indices(tensor({{1, 3, 2, 0}}, bf16), 2).indices, tensor({{1, 2}}, i64)));
}

TEST(Pooling, ComputesIndicesOnlyIfNeeded) {
  EXPECT_TRUE(max_pool1d_with_indices(zeros({1, 4}), 2).indices.defined());
  const Tensor y = max_pool1d(zeros({1, 4}).requires_grad_(), 2);
  ASSERT_EQ(y.impl().node->saved.size(), 1u);
  EXPECT_EQ(y.impl().node->saved[0].value.dtype(), i64);
}

TEST(Pooling, SavesNothingForAverages) {
  EXPECT_TRUE(avg_pool1d(zeros({1, 4}).requires_grad_(), 2).impl().node->saved.empty());
}

TEST(Pooling, RefusesInvalidWindows) {
  EXPECT_TAPE_ERROR(
      max_pool2d(zeros({2, 3, 3}), 4), ErrorKind::shape,
      "max_pool2d: no window fits axis 2 of x [2, 3, 3]: 0 + 3 + 0 = 3 values, a window takes 1 * 3 + 1 = "
      "4");
  EXPECT_TAPE_ERROR(max_pool1d(zeros({3}), 2), ErrorKind::shape, "max_pool1d: x must be [C, L] or [N, C, L], got [3]");
  EXPECT_TAPE_ERROR(avg_pool2d(zeros({2, 0, 3, 3}), 2), ErrorKind::shape,
                    "avg_pool2d: axis 1 of x [2, 0, 3, 3] is empty");
  EXPECT_TAPE_ERROR(max_pool1d(zeros({1, 4}), 2, {.padding = 2}), ErrorKind::config,
                    "max_pool1d: padding must be at most half of the window's extent, got 2 for 2");
  EXPECT_TAPE_ERROR(max_pool1d(zeros({1, 2}), 2, {.padding = 1, .dilation = 3}), ErrorKind::shape,
                    "max_pool1d: window 0 of 2 values with dilation 3 lies outside x [1, 2]");
  EXPECT_TAPE_ERROR(avg_pool1d(zeros({1, 4}), 0), ErrorKind::config,
                    "avg_pool1d: kernel must be in [1, 2147483647], got 0");
  EXPECT_TAPE_ERROR(avg_pool1d(zeros({1, 4}), {}), ErrorKind::config, "avg_pool1d: kernel has 0 sizes for 1 axes");
  EXPECT_TAPE_ERROR(max_pool1d(zeros({1, 4}, i64), 2), ErrorKind::dtype, "max_pool1d: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(adaptive_avg_pool1d(zeros({1, 4}), 0), ErrorKind::config,
                    "adaptive_avg_pool1d: size must be in [1, 2147483647], got 0");
  EXPECT_TAPE_ERROR(adaptive_avg_pool2d(zeros({4}), 2), ErrorKind::shape,
                    "adaptive_avg_pool2d: x must be [C, H, W] or [N, C, H, W], got [4]");
}

}  // namespace
}  // namespace tape
