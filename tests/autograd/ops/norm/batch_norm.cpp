#include "autograd/ops/norm/batch_norm.h"

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

TEST(BatchNormOperation, UpdatesTheRunningStatistics) {
  const Tensor x = sample_normal({4, 2, 3});
  for (const bool composed : {false, true}) {
    const Tensor running_mean = zeros({2}, f64), running_var = ones({2}, f64);
    const std::optional<Composed> scope = composed ? std::optional<Composed>(std::in_place) : std::nullopt;
    batch_norm(x, running_mean, running_var, {}, {}, {.training = true, .momentum = 1});
    EXPECT_TRUE(tensors_near(running_mean, mean(x, {0, 2}), 1e-14));
    EXPECT_TRUE(tensors_near(running_var, var(x, {0, 2}), 1e-14));
  }
}

TEST(BatchNormOperation, DoesNotUpdateTheRunningStatisticsOutsideTraining) {
  const Tensor running_mean = tensor({1, 2}), running_var = tensor({3, 4});
  batch_norm(zeros({4, 2}), running_mean, running_var);
  EXPECT_TRUE(tensors_equal(running_mean, tensor({1, 2})));
  EXPECT_TRUE(tensors_equal(running_var, tensor({3, 4})));
}

TEST(BatchNormOperation, DoesNotUpdateTheRunningStatisticsForAnEmptyBatch) {
  const Tensor running_mean = tensor({1, 2}), running_var = tensor({3, 4});
  const Tensor y = batch_norm(zeros({0, 2, 3}), running_mean, running_var, {}, {}, {.training = true});
  EXPECT_EQ(y.shape(), Shape({0, 2, 3}));
  EXPECT_TRUE(tensors_equal(running_mean, tensor({1, 2})));
  EXPECT_TRUE(tensors_equal(running_var, tensor({3, 4})));
}

/// Later changes to the statistics that normalized a batch must not affect its gradient.
TEST(BatchNormOperation, UsesTheRunningStatisticsOfTheForwardInItsGradient) {
  Tensor x = ones({1, 1, 2}).requires_grad_();
  Tensor running_var = full({1}, 3);
  const Tensor y = batch_norm(x, zeros({1}), running_var, {}, {}, {.eps = 1});
  running_var.fill_(99);
  sum(y).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), full({1, 1, 2}, 0.5)));
}

TEST(BatchNormOperation, ComputesHalvesInF32) {
  const Tensors in{sample_normal({2, 4, 3}, 1), sample_normal({4}, 2), sample_normal({4}, 3)};
  const Tensor mean = tensor({0.5, -1, 0, 2}), var = tensor({1, 0.5, 2, 4});
  for (const bool training : {false, true})
    expect_rounded_f32(in, [&](const Tensors& x) {
      return batch_norm(x[0], mean.to(x[0].dtype()), var.to(x[0].dtype()), x[1], x[2], {.training = training});
    });
}

TEST(BatchNormOperation, UpdatesHalfPrecisionRunningStatisticsInF32) {
  for (const DType half : {f16, bf16}) {
    const Tensor x = sample_normal({4, 2, 3}).to(half), wide = x.to(f32);
    const Tensor mean = full({2}, 0.3).to(half), var = full({2}, 1.7).to(half);
    const Tensor wide_mean = mean.to(f32), wide_var = var.to(f32);
    batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 0.3});
    batch_norm(wide, wide_mean, wide_var, {}, {}, {.training = true, .momentum = 0.3});
    EXPECT_TRUE(tensors_equal(mean, wide_mean.to(half))) << to_string(half);
    EXPECT_TRUE(tensors_equal(var, wide_var.to(half))) << to_string(half);
  }
}

/// The same for second derivatives.
TEST(BatchNormOperation, UsesTheRunningStatisticsOfTheForwardInItsSecondGradient) {
  const Tensor x = tensor({{2, 3}}).requires_grad_(), weight = tensor({1, 1}).requires_grad_();
  Tensor running_var = full({2}, 3);
  const Tensor y = batch_norm(x, zeros({2}), running_var, weight, {}, {.eps = 1});
  running_var.fill_(99);
  const Tensor dx = grad({sum(y)}, {x}, {.create_graph = true})[0];
  EXPECT_TRUE(tensors_equal(dx, full({1, 2}, 0.5)));
  EXPECT_TRUE(tensors_equal(grad({sum(dx)}, {weight})[0], full({2}, 0.5)));
}

TEST(BatchNormOperation, IsAccurateFarFromZeroInF32) {
  const Tensor x = (sample_normal({8, 3, 40}) + 1000).to(f32);
  const BatchNormOptions training{.training = true};
  EXPECT_TRUE(tensors_near(batch_norm(x, {}, {}, {}, {}, training).to(f64),
                           batch_norm(x.to(f64), {}, {}, {}, {}, training), 2e-3));
}

TEST(BatchNormOperation, RefusesInvalidStatisticsAndOptions) {
  const Tensor x = zeros({2, 4, 5}), four = ones({4});
  EXPECT_TAPE_ERROR(batch_norm(x, ones({3}), four), ErrorKind::shape,
                    "batch_norm: running_mean must be [4] for x [2, 4, 5], got [3]");
  EXPECT_TAPE_ERROR(batch_norm(x, four, ones({3})), ErrorKind::shape,
                    "batch_norm: running_var must be [4] for x [2, 4, 5], got [3]");
  EXPECT_TAPE_ERROR(batch_norm(x, four, four, ones({2})), ErrorKind::shape,
                    "batch_norm: weight must be [4] for x [2, 4, 5], got [2]");
  EXPECT_TAPE_ERROR(batch_norm(x, four, four, {}, ones({2})), ErrorKind::shape,
                    "batch_norm: bias must be [4] for x [2, 4, 5], got [2]");
  EXPECT_TAPE_ERROR(batch_norm(x, four.to(f64), four), ErrorKind::dtype, "batch_norm: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(batch_norm(x, {}, {}), ErrorKind::config,
                    "batch_norm: evaluation needs running_mean and running_var");
  EXPECT_TAPE_ERROR(batch_norm(zeros({1, 4}), four, four, {}, {}, {.training = true}), ErrorKind::shape,
                    "batch_norm: training needs more than one value per channel, x is [1, 4]");
  EXPECT_TAPE_ERROR(batch_norm(x, four, four, {}, {}, {.momentum = NAN}), ErrorKind::config,
                    "batch_norm: momentum must be a number, got nan");
  EXPECT_TAPE_ERROR(batch_norm(x, four, four, {}, {}, {.eps = -1}), ErrorKind::config,
                    "batch_norm: eps must be 0 or more, got -1");
  EXPECT_TAPE_ERROR(batch_norm(zeros({4}), four, four), ErrorKind::shape,
                    "batch_norm: x must be [N, C, ...] with a channel, got [4]");
}

}  // namespace
}  // namespace tape
