#include "optim/clip.h"

#include <cmath>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::optim {
namespace {

Tensor with_gradient(const Tensor& gradient) {
  Tensor p = zeros(gradient.shape(), gradient.dtype()).requires_grad_();
  p.set_grad(gradient);
  return p;
}

TEST(ClipGradNorm, ScalesAllGradientsTogether) {
  const Tensor a = with_gradient(tensor({3, 0}, f64)), b = with_gradient(reshape(tensor({0, 4}, f64), {2, 1}));
  const Tensor none = zeros({3}, f64).requires_grad_();
  EXPECT_DOUBLE_EQ(clip_grad_norm({a, none, b}, 1), 5);
  const double scale = 1 / (5 + 1e-6);
  EXPECT_TRUE(tensors_near(a.grad(), tensor({3 * scale, 0}, f64), 1e-15));
  EXPECT_TRUE(tensors_near(b.grad(), reshape(tensor({0, 4 * scale}, f64), {2, 1}), 1e-15));
  EXPECT_FALSE(none.grad().defined());
  EXPECT_NEAR(clip_grad_norm({a, b}, 1), 1, 1e-6);
}

TEST(ClipGradNorm, DoesNotChangeSmallGradients) {
  const Tensor p = with_gradient(tensor({3, 4}, f32));
  EXPECT_DOUBLE_EQ(clip_grad_norm({p}, 5.1), 5);
  EXPECT_DOUBLE_EQ(clip_grad_norm({p}, INFINITY), 5);
  EXPECT_TRUE(tensors_equal(p.grad(), tensor({3, 4}, f32)));
  const Tensor zero = with_gradient(zeros({2}));
  EXPECT_EQ(clip_grad_norm({zero}, 1), 0);
  EXPECT_EQ(clip_grad_norm(Tensors{}, 1), 0);
}

TEST(ClipGradNorm, ScalesASharedGradientOnce) {
  const Tensor gradient = tensor({3, 4}, f64);
  const Tensor a = with_gradient(gradient), b = with_gradient(gradient);
  clip_grad_norm({a, b}, 1);
  const double scale = 1 / (std::sqrt(50.0) + 1e-6);
  EXPECT_TRUE(tensors_near(a.grad(), tensor({3 * scale, 4 * scale}, f64), 1e-15));
  EXPECT_TRUE(tensors_near(b.grad(), tensor({3 * scale, 4 * scale}, f64), 1e-15));
  EXPECT_TRUE(tensors_equal(gradient, tensor({3, 4}, f64)));
}

TEST(ClipGradNorm, DoesNotChangeViewsOfTheGradient) {
  Tensor p = with_gradient(tensor({3, 4}, f64));
  const Tensor view = reshape(p.grad(), {2, 1});
  EXPECT_DOUBLE_EQ(clip_grad_norm({p}, 1), 5);
  EXPECT_NEAR(clip_grad_norm({p}, 1), 1, 1e-6);
  EXPECT_TRUE(tensors_equal(view, reshape(tensor({3, 4}, f64), {2, 1})));
}

TEST(ClipGradNorm, WorksOnGradientsOfABackward) {
  Tensor p = tensor({3, 4}, f32).requires_grad_();
  (sum(square(p)) * 0.5).backward();
  EXPECT_DOUBLE_EQ(clip_grad_norm({p}, 2.5), 5);
  EXPECT_TRUE(tensors_near(p.grad(), tensor({1.5, 2}, f32), 1e-6));
}

TEST(ClipGradNorm, HandlesSquaresBeyondTheRangeOfADouble) {
  const Tensor huge = with_gradient(tensor({3e200, 4e200}, f64));
  EXPECT_NEAR(clip_grad_norm({huge}, 1) / 5e200, 1, 1e-14);
  EXPECT_TRUE(tensors_near(huge.grad(), tensor({0.6, 0.8}, f64), 1e-14));
  const Tensor largest = with_gradient(tensor({1.7e308, 0}, f64));
  EXPECT_NEAR(clip_grad_norm({largest}, 1) / 1.7e308, 1, 1e-14);
  const Tensor tiny = with_gradient(tensor({3e-200, 4e-200}, f64));
  EXPECT_NEAR(clip_grad_norm({tiny}, 1) / 5e-200, 1, 1e-14);
}

TEST(ClipGradNorm, CountsNonFiniteGradients) {
  const Tensor a = with_gradient(tensor({3, NAN}, f32)), b = with_gradient(tensor({30, 40}, f32)),
               c = with_gradient(tensor({-INFINITY}, f32));
  EXPECT_TAPE_ERROR(
      clip_grad_norm({a, b, c}, 1), ErrorKind::numeric,
      "clip_grad_norm: 2 of 3 gradients contain NaN or infinity, first parameter 0 [2]; nothing was changed");
  EXPECT_TRUE(tensors_equal(b.grad(), tensor({30, 40}, f32)));
}

TEST(GradNorm, ReturnsTheNormWithoutChangingGradients) {
  const Tensor a = with_gradient(tensor({3, 0}, f64)), b = with_gradient(tensor({4}, f64));
  EXPECT_DOUBLE_EQ(grad_norm({a, b}), 5);
  EXPECT_TRUE(tensors_equal(a.grad(), tensor({3, 0}, f64)));
  EXPECT_EQ(grad_norm(Tensors{}), 0);
  EXPECT_TAPE_ERROR(grad_norm({a, a}), ErrorKind::config, "grad_norm: parameter 1 [2] is given twice");
  EXPECT_TAPE_ERROR(grad_norm({with_gradient(tensor({NAN}, f32))}), ErrorKind::numeric,
                    "grad_norm: 1 of 1 gradients contain NaN or infinity, first parameter 0 [1]; nothing was "
                    "changed");
}

TEST(ClipScale, IsTheFactorThatClipGradNormApplies) {
  EXPECT_DOUBLE_EQ(clip_scale(5, 1), 1 / (5 + 1e-6));
  EXPECT_EQ(clip_scale(0.5, 1), 1);
  EXPECT_EQ(clip_scale(5, INFINITY), 1);
  EXPECT_TAPE_ERROR(clip_scale(5, 0), ErrorKind::config, "clip_scale: max_norm must be > 0, got 0");
}

TEST(ClipGradNorm, RefusesNormsOutOfRangeAndAParameterGivenTwice) {
  const Tensor p = with_gradient(tensor({3, 4}, f32));
  EXPECT_TAPE_ERROR(clip_grad_norm({p}, 0), ErrorKind::config, "clip_grad_norm: max_norm must be > 0, got 0");
  EXPECT_TAPE_ERROR(clip_grad_norm({p}, NAN), ErrorKind::config, "clip_grad_norm: max_norm must be > 0, got nan");
  EXPECT_TAPE_ERROR(clip_grad_norm({p, p}, 1), ErrorKind::config, "clip_grad_norm: parameter 1 [2] is given twice");
}

TEST(ClipGradValue, ClampsEveryElement) {
  const Tensor a = with_gradient(tensor({-3, -0.25, 0.5, 9}, f64));
  const Tensor none = zeros({3}, f64).requires_grad_();
  clip_grad_value({a, none}, 0.5);
  EXPECT_TRUE(tensors_equal(a.grad(), tensor({-0.5, -0.25, 0.5, 0.5}, f64)));
  EXPECT_FALSE(a.grad().requires_grad());
  EXPECT_TAPE_ERROR(clip_grad_value({a}, -1), ErrorKind::config, "clip_grad_value: limit must be > 0, got -1");
}

}  // namespace
}  // namespace tape::optim
