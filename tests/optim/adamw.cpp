#include "optim/adamw.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "tests/optim/replay.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::optim {
namespace {

TEST(AdamW, AgreesWithPyTorchForAHundredSteps) {
  Replay replay;
  AdamW adamw({replay.weight, replay.bias}, {.lr = 0.02, .weight_decay = 0.3});
  replay.expect_run("adamw", adamw);
}

TEST(AdamW, AgreesWithPyTorchForAHundredStepsWithGroups) {
  Replay replay;
  AdamW adamw({{.parameters = {replay.weight}}, {.parameters = {replay.bias}, .lr_factor = 0.5, .weight_decay = 0}},
              {.lr = 0.02, .weight_decay = 0.3});
  replay.expect_run("groups", adamw);
}

TEST(AdamW, ShrinksTheParameterByDecayWithoutGradients) {
  Tensor p = tensor({8, -4}, f64).requires_grad_();
  AdamW adamw({p}, {.lr = 0.5, .weight_decay = 0.5});
  p.set_grad(zeros({2}, f64));
  adamw.step();
  EXPECT_TRUE(tensors_equal(p.detach(), tensor({6, -3}, f64)));
}

/// Minimizes a loss with noisy gradients and returns the distance to the minimum after some steps.
double distance_after(AdamW& adam, Tensor& p, int64_t steps) {
  Generator noise(5);
  for (int64_t step = 0; step < steps; ++step) {
    p.set_grad(p.detach() - 1 + randn(p.shape(), f32, noise) * 0.1);
    adam.step();
  }
  return mean(square(p.detach() - 1)).item();
}

TEST(AdamWInBf16, ConvergesAsWellAsInF32) {
  Tensor whole = zeros({50, 200}).requires_grad_(), half = zeros({50, 200}).requires_grad_();
  AdamW adam({whole}, {.lr = 1e-2, .weight_decay = 0});
  AdamW halves({half}, {.lr = 1e-2, .weight_decay = 0, .moments = MomentDtype::bf16});
  const double expected = distance_after(adam, whole, 400), found = distance_after(halves, half, 400);
  EXPECT_LT(expected, 1e-3);
  EXPECT_NEAR(found, expected, 0.1 * expected);
  EXPECT_EQ(halves.state_dict().at("0.m").dtype(), bf16);
  EXPECT_EQ(halves.state_dict().at("0.v").dtype(), bf16);
}

/// With rounding to nearest, a mean of squares would never change: a thousandth is less than the resolution of bf16.
TEST(AdamWInBf16, AccumulatesSmallChangesOnAverage) {
  Tensor p = zeros({4096}).requires_grad_();
  AdamW adam({p}, {.lr = 0, .moments = MomentDtype::bf16});
  p.set_grad(full({4096}, 1.0));
  adam.step();
  p.set_grad(zeros({4096}));
  for (int step = 0; step < 1000; ++step) adam.step();
  const double v = mean(adam.state_dict().at("0.v").to(f32)).item(), expected = 1e-3 * std::pow(0.999, 1000);
  EXPECT_NEAR(v, expected, 0.02 * expected);
}

TEST(AdamWInBf16, ResumesExactly) {
  const auto start = [] { return full({10'000}, 0.5).requires_grad_(); };
  Tensor whole = start(), resumed = start();
  const AdamWOptions options{.lr = 1e-2, .moments = MomentDtype::bf16};
  AdamW first({whole}, options), second({resumed}, options);
  const auto gradient = [](int step) {
    Generator draws(static_cast<uint64_t>(step));
    return randn({10'000}, f32, draws);
  };
  for (int step = 0; step < 6; ++step) {
    whole.set_grad(gradient(step));
    first.step();
    if (step == 2) {
      second.load_state_dict(first.state_dict());
      std::copy_n(whole.data<float>(), 10'000, Tensor(resumed).mutable_data<float>());
    }
    if (step < 3) continue;
    resumed.set_grad(gradient(step));
    second.step();
  }
  EXPECT_TRUE(tensors_equal(whole.detach(), resumed.detach()));
  // A state saved in f32 is converted.
  AdamW wide({resumed}, {.lr = 1e-2});
  wide.load_state_dict(first.state_dict());
  EXPECT_EQ(wide.state_dict().at("0.m").dtype(), f32);
}

TEST(AdamWInBf16, DoesNotAffectF64Parameters) {
  Tensor p = zeros({3}, f64).requires_grad_();
  AdamW adam({p}, {.moments = MomentDtype::bf16});
  p.set_grad(ones({3}, f64));
  adam.step();
  EXPECT_EQ(adam.state_dict().at("0.m").dtype(), f64);
}

TEST(AdamW, NamesItselfInErrors) {
  const Tensor p = zeros({2}).requires_grad_();
  EXPECT_TAPE_ERROR(AdamW({p}, {.weight_decay = -1}), ErrorKind::config,
                    "AdamW: weight_decay must be a number >= 0, got -1");
}

}  // namespace
}  // namespace tape::optim
