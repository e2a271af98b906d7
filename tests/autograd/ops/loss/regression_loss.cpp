#include "autograd/ops/loss/regression_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Regression, LossesMatchTheirFormulas) {
  const Tensor x = tensor({1, 2, 4}), t = tensor({1, 4, 1});
  EXPECT_NEAR(mse_loss(x, t).item(), 13.0 / 3, 1e-6);
  EXPECT_EQ(mse_loss(x, t, Reduction::sum).item(), 13);
  EXPECT_TRUE(tensors_equal(mse_loss(x, t, Reduction::none), tensor({0, 4, 9})));
  EXPECT_NEAR(l1_loss(x, t).item(), 5.0 / 3, 1e-6);
  EXPECT_TAPE_ERROR(mse_loss(x, zeros({3, 1})), ErrorKind::shape, "mse_loss: shapes differ: [3] and [3, 1]");
  EXPECT_TAPE_ERROR(mse_loss(arange(3), arange(3)), ErrorKind::dtype, "mse_loss: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(l1_loss(x, zeros({3}, f64)), ErrorKind::dtype, "l1_loss: dtypes differ: f32 and f64");
}

TEST(Regression, LossesAreDifferentiable) {
  const Tensor t = sample_uniform({2, 3}, 0.1, 0.9, 5), apart = sample_distinct({2, 3}) * 8 + 0.3;
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    for (const auto loss : {mse_loss, l1_loss}) {
      const auto f = [=](const Tensors& in) { return loss(in[0], in[1], reduction); };
      EXPECT_TRUE(gradients_match(gradcheck(f, {apart, t})));
      EXPECT_TRUE(gradients_match(gradgradcheck(f, {apart, t})));
    }
  }
}

TEST(SmoothL1, IsQuadraticNearZeroAndLinearBeyond) {
  const Tensor x = tensor({0, 0.5, 1, 3}, f64), t = zeros({4}, f64);
  EXPECT_TRUE(
      tensors_near(smooth_l1_loss(x, t, {.reduction = Reduction::none}), tensor({0, 0.125, 0.5, 2.5}, f64), 1e-15));
  EXPECT_TRUE(tensors_near(smooth_l1_loss(x, t, {.beta = 2, .reduction = Reduction::none}),
                           huber_loss(x, t, {.delta = 2, .reduction = Reduction::none}) / 2, 1e-15));
  EXPECT_TRUE(tensors_equal(smooth_l1_loss(x, t, {.beta = 0}), l1_loss(x, t)));
  EXPECT_TRUE(tensors_near(huber_loss(x, t, {.delta = 0.5, .reduction = Reduction::none}),
                           tensor({0, 0.125, 0.375, 1.375}, f64), 1e-15));
}

TEST(SmoothL1, RefusesInvalidLimitsAndShapes) {
  const Tensor x = zeros({2});
  EXPECT_TAPE_ERROR(smooth_l1_loss(x, x, {.beta = -1}), ErrorKind::config,
                    "smooth_l1_loss: beta must be at least 0 and finite, got -1");
  EXPECT_THROW(smooth_l1_loss(x, x, {.beta = NAN}), Error);
  EXPECT_TAPE_ERROR(huber_loss(x, x, {.delta = 0}), ErrorKind::config,
                    "huber_loss: delta must be above 0 and finite, got 0");
  EXPECT_THROW(huber_loss(x, x, {.delta = INFINITY}), Error);
  EXPECT_TAPE_ERROR(smooth_l1_loss(x, zeros({2, 1})), ErrorKind::shape,
                    "smooth_l1_loss: shapes differ: [2] and [2, 1]");
  EXPECT_TAPE_ERROR(huber_loss(x, zeros({2}, f64)), ErrorKind::dtype, "huber_loss: dtypes differ: f32 and f64");
}

TEST(GaussianNll, IsTheNegativeLogOfTheDensity) {
  const double x = 0.3, t = 1.2, v = 0.7, pi = 3.141592653589793;
  const double density = std::exp(-(x - t) * (x - t) / (2 * v)) / std::sqrt(2 * pi * v);
  const Tensor a = full({1}, x, f64), b = full({1}, t, f64), var = full({1}, v, f64);
  EXPECT_NEAR(gaussian_nll_loss(a, b, var, {.full = true}).item(), -std::log(density), 1e-15);
  EXPECT_NEAR(gaussian_nll_loss(a, b, var).item(), -std::log(density) - std::log(2 * pi) / 2, 1e-15);
}

/// eps clamps the value but not the gradient, of any order.
TEST(GaussianNll, PassesGradientsThroughClampedVariances) {
  const Tensor x = tensor({2}, f64), t = tensor({1}, f64), var = tensor({1e-9}, f64).requires_grad_();
  const Tensor loss = gaussian_nll_loss(x, t, var, {.eps = 0.5});
  const Tensor slope = grad({loss}, {var}, {.create_graph = true})[0];
  EXPECT_NEAR(loss.item(), 0.5 * (std::log(0.5) + 2), 1e-12);
  EXPECT_NEAR(slope.item(), 0.5 * (1 / 0.5 - 1 / 0.25), 1e-12);
  EXPECT_NEAR(grad({slope}, {var})[0].item(), 0.5 * (-1 / 0.25 + 2 / 0.125), 1e-11);
}

TEST(GaussianNll, RefusesInvalidVariances) {
  const Tensor x = zeros({2, 3}), var = ones({2, 3});
  EXPECT_TAPE_ERROR(gaussian_nll_loss(x, x, tensor({{1, 1, 1}, {1, -0.5, 1}})), ErrorKind::numeric,
                    "gaussian_nll_loss: var [2, 3] contains a negative value");
  EXPECT_TAPE_ERROR(gaussian_nll_loss(x, x, ones({3})), ErrorKind::shape,
                    "gaussian_nll_loss: var must have x's shape [2, 3], or size 1 in its last axis, got [3]");
  EXPECT_TAPE_ERROR(gaussian_nll_loss(x, x, var, {.eps = 0}), ErrorKind::config,
                    "gaussian_nll_loss: eps must be above 0 and finite, got 0");
  EXPECT_TAPE_ERROR(gaussian_nll_loss(x, x, ones({2, 3}, f64)), ErrorKind::dtype,
                    "gaussian_nll_loss: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(gaussian_nll_loss(x, zeros({3}), var), ErrorKind::shape,
                    "gaussian_nll_loss: shapes differ: [2, 3] and [3]");
  EXPECT_TRUE(std::isnan(gaussian_nll_loss(x, x, full({2, 3}, NAN)).item()));
}

}  // namespace
}  // namespace tape
