#include "autograd/ops/convolution/convolution.h"

#include <gtest/gtest.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/autograd/ops/rounded_f32.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Convolution, ReturnsItsInputForAOneByOneIdentityKernel) {
  const Tensor x = sample_normal({2, 3, 4, 5});
  EXPECT_TRUE(tensors_equal(conv2d(x, reshape(eye(3, f64), {3, 3, 1, 1})), x));
}

TEST(Convolution, DoesNotFlipTheKernel) {
  const Tensor y = conv1d(tensor({{1, 2, 3, 4}}), tensor({{{1, 10}}}), tensor({100}));
  EXPECT_TRUE(tensors_equal(y, tensor({{121, 132, 143}})));
}

TEST(Convolution, IsAProductForAKernelAsLargeAsTheInput) {
  const Tensor x = sample_normal({4, 3, 2, 5}), weight = sample_normal({6, 3, 2, 5}, 2);
  EXPECT_TRUE(
      tensors_near(reshape(conv2d(x, weight), {4, 6}), linear(reshape(x, {4, 30}), reshape(weight, {6, 30})), 1e-12));
}

TEST(Convolution, SamePaddingPutsTheExtraValueAtTheEnd) {
  const Tensor y = conv1d(tensor({{1, 2, 3}}), tensor({{{1, 1}}}), {}, {.padding = PadTo::same});
  EXPECT_TRUE(tensors_equal(y, tensor({{3, 5, 3}})));
}

/// Large enough for several blocks of windows and of channels.
TEST(Convolution, AgreesWithComposedForManyBlocks) {
  const Tensor x = sample_normal({2, 70, 24, 26}).requires_grad_(), weight = sample_normal({40, 70, 3, 3}, 2);
  Tensor leaf = weight.clone().requires_grad_();
  const ConvOptions options{.stride = {1, 2}, .padding = 1};
  const Tensor y = conv2d(x, leaf, {}, options);
  const Tensor seed = sample_normal(y.shape(), 3);
  const Tensors found = grad({y}, {x, leaf}, {.gradients = {seed}});
  const Composed composed;
  const Tensor unfused = conv2d(x, leaf, {}, options);
  const Tensors wanted = grad({unfused}, {x, leaf}, {.gradients = {seed}});
  EXPECT_TRUE(tensors_near(y, unfused, 1e-11));
  EXPECT_TRUE(tensors_near(found[0], wanted[0], 1e-11));
  EXPECT_TRUE(tensors_near(found[1], wanted[1], 1e-11));
}

TEST(Convolution, RecordsEveryStepInAComposedScope) {
  const Tensor x = sample_normal({1, 2, 3}).requires_grad_();
  const Composed composed;
  const Tensor y = conv1d(x, sample_normal({2, 2, 2}), sample_normal({2}));
  EXPECT_STREQ(y.impl().node->name(), "add");
}

TEST(Convolution, HasZeroGradientsForAnEmptyBatch) {
  Tensor x = zeros({0, 2, 4}).requires_grad_(), weight = ones({3, 2, 2}).requires_grad_(),
         bias = ones({3}).requires_grad_();
  sum(conv1d(x, weight, bias)).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), zeros({0, 2, 4})));
  EXPECT_TRUE(tensors_equal(weight.grad(), zeros({3, 2, 2})));
  EXPECT_TRUE(tensors_equal(bias.grad(), zeros({3})));
}

/// Padding of 16 GB must not be materialized.
TEST(Convolution, UsesLittleMemoryForWidePaddingAndStrides) {
  const int64_t wide = int64_t{1} << 30;
  const Tensor x = sample_normal({2, 5}).requires_grad_(), weight = ones({2, 1, 1}, f64);
  const Tensor y = conv1d(x, weight, {}, {.stride = wide, .padding = wide, .groups = 2});
  EXPECT_TRUE(tensors_equal(select(y, 1, 1), select(x, 1, 0)));
  EXPECT_TRUE(tensors_equal(grad({sum(y)}, {x})[0], pad(ones({2, 1}, f64), {{0, 4}})));
}

TEST(Convolution, UsesThePrecisionOfItsScope) {
  const Tensor x = sample_normal({1, 16, 32, 32}).to(f32), weight = sample_normal({32, 16, 3, 3}, 2).to(f32);
  const Tensor exact = conv2d(x, weight);
  const MatmulPrecisionScope medium(MatmulPrecision::medium);
  EXPECT_TRUE(tensors_near(conv2d(x, weight), exact, 0.3));
}

TEST(Convolution, ComputesHalvesInF32) {
  expect_rounded_f32({sample_normal({2, 2, 5, 4}, 1), sample_normal({3, 2, 3, 2}, 2), sample_normal({3}, 3)},
                     [](const Tensors& in) { return conv2d(in[0], in[1], in[2], {.stride = 2, .padding = 1}); });
}

TEST(Convolution, RefusesMismatchedShapes) {
  const Tensor x = zeros({2, 4, 9}), weight = zeros({8, 4, 3});
  EXPECT_TAPE_ERROR(conv1d(x, zeros({8, 3, 5})), ErrorKind::shape,
                    "conv1d: weight [8, 3, 5] takes 3 channels in 1 group, x [2, 4, 9] has 4");
  EXPECT_TAPE_ERROR(conv1d(x, zeros({8, 4, 5}), {}, {.groups = 2}), ErrorKind::shape,
                    "conv1d: weight [8, 4, 5] takes 8 channels in 2 groups, x [2, 4, 9] has 4");
  EXPECT_TAPE_ERROR(conv1d(x, zeros({5, 2, 3}), {}, {.groups = 2}), ErrorKind::shape,
                    "conv1d: 2 groups do not divide the 5 output channels of weight [5, 2, 3]");
  EXPECT_TAPE_ERROR(conv1d(zeros({9}), weight), ErrorKind::shape, "conv1d: x must be [C, L] or [N, C, L], got [9]");
  EXPECT_TAPE_ERROR(conv2d(x.detach()[0], weight), ErrorKind::shape,
                    "conv2d: x must be [C, H, W] or [N, C, H, W], got [4, 9]");
  EXPECT_TAPE_ERROR(conv1d(zeros({2, 4, 0}), weight), ErrorKind::shape, "conv1d: axis 2 of x [2, 4, 0] is empty");
  EXPECT_TAPE_ERROR(conv1d(x, zeros({8, 4})), ErrorKind::shape,
                    "conv1d: weight must be [O, C / groups, K] with no empty axis, got [8, 4]");
  EXPECT_TAPE_ERROR(conv2d(zeros({4, 3, 3}), zeros({0, 4, 1, 1})), ErrorKind::shape,
                    "conv2d: weight must be [O, C / groups, KH, KW] with no empty axis, got [0, 4, 1, 1]");
  EXPECT_TAPE_ERROR(conv1d(x, weight, zeros({7})), ErrorKind::shape, "conv1d: bias must be [8], got [7]");
  EXPECT_TAPE_ERROR(
      conv1d(x, zeros({8, 4, 6}), {}, {.padding = 1, .dilation = 3}), ErrorKind::shape,
      "conv1d: no window fits axis 2 of x [2, 4, 9]: 1 + 9 + 1 = 11 values, a window takes 3 * 5 + 1 = 16");
  EXPECT_TAPE_ERROR(conv1d(x, weight.to(f64)), ErrorKind::dtype, "conv1d: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(conv1d(x, weight, zeros({8}, f64)), ErrorKind::dtype, "conv1d: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(conv1d(zeros({4, 9}, i64), zeros({8, 4, 3}, i64)), ErrorKind::dtype,
                    "conv1d: needs a floating dtype, got i64");
}

TEST(Convolution, RefusesOptionsOutOfRange) {
  const Tensor x = zeros({2, 4, 9}), weight = zeros({8, 4, 3});
  EXPECT_TAPE_ERROR(conv1d(x, weight, {}, {.stride = 0}), ErrorKind::config,
                    "conv1d: stride must be in [1, 2147483647], got 0");
  EXPECT_TAPE_ERROR(conv1d(x, weight, {}, {.padding = -1}), ErrorKind::config,
                    "conv1d: padding must be in [0, 2147483647], got -1");
  EXPECT_TAPE_ERROR(conv1d(x, weight, {}, {.padding = int64_t{1} << 62}), ErrorKind::config,
                    "conv1d: padding must be in [0, 2147483647], got 4611686018427387904");
  EXPECT_TAPE_ERROR(conv1d(x, weight, {}, {.dilation = {1, 2}}), ErrorKind::config,
                    "conv1d: dilation has 2 sizes for 1 axes");
  EXPECT_TAPE_ERROR(conv1d(x, weight, {}, {.groups = 0}), ErrorKind::config,
                    "conv1d: groups must be at least 1, got 0");
  EXPECT_TAPE_ERROR(conv1d(x, weight, {}, {.stride = 2, .padding = PadTo::same}), ErrorKind::config,
                    "conv1d: PadTo::same needs stride 1, got 2");
}

}  // namespace
}  // namespace tape
