#include "optim/adam.h"

#include <cmath>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/kernels/runtime/common/isa.h"
#include "tests/optim/replay.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::optim {
namespace {

TEST(Adam, AgreesWithPyTorchForAHundredSteps) {
  Replay replay;
  Adam adam({replay.weight, replay.bias}, {.lr = 0.01});
  replay.expect_run("adam", adam);
}

TEST(Adam, AgreesWithPyTorchForAHundredStepsWithWeightDecay) {
  Replay replay;
  Adam adam({replay.weight, replay.bias}, {.lr = 0.02, .betas = {0.8, 0.95}, .eps = 1e-3, .weight_decay = 0.1});
  replay.expect_run("adam_l2", adam);
}

TEST(Adam, AgreesWithPyTorchForAHundredStepsWithTheTransformersSettings) {
  Replay replay;
  const Tensors parameters = {replay.weight, replay.bias};
  Adam adam(parameters, {.betas = {0.9, 0.98}, .eps = 1e-9});
  NoamSchedule schedule(adam, {.d_model = 16, .warmup = 20});
  const Tensor& norms = replay.file.at("transformer.norms");
  const Tensor& rates = replay.file.at("transformer.lr");
  int clipped = 0;
  for (int64_t step = 1; step <= 100; ++step) {
    replay.give_gradients(step);
    const double norm = norms[step - 1].item(), rate = rates[step - 1].item();
    EXPECT_NEAR(clip_grad_norm(parameters, 3.5), norm, 1e-12 * norm);
    EXPECT_NEAR(adam.lr(), rate, 1e-14 * rate);
    clipped += norm > 3.5;
    adam.step();
    schedule.step();
    replay.expect_as_saved("transformer", step);
  }
  EXPECT_GT(clipped, 10);
  EXPECT_LT(clipped, 90);
}

// Compares the kernel with its formula, at sizes around the vector widths and above one chunk, at every level of this
// CPU.
template <class T>
void expect_formula(int64_t n, bool decoupled, double tolerance) {
  const DType dtype = dtype_of<T>;
  Generator stream(7);
  Tensor p = randn({n}, dtype, stream).requires_grad_();
  const Tensor start = p.detach().clone();
  const double lr = 0.1, beta1 = 0.7, beta2 = 0.9, eps = 1e-6, decay = 0.2;
  class Either : public Adam {
   public:
    Either(const Tensor& parameter, const AdamOptions& options, bool decoupled_decay)
        : Adam("Either", one_group({parameter}), options, decoupled_decay) {}
  };
  Either adam(p, {.lr = lr, .betas = {beta1, beta2}, .eps = eps, .weight_decay = decay}, decoupled);
  std::vector<double> want(static_cast<size_t>(n)), m(want.size()), v(want.size());
  for (size_t i = 0; i < want.size(); ++i) want[i] = static_cast<double>(start.data<T>()[i]);
  for (int t = 1; t <= 3; ++t) {
    const Tensor gradient = randn({n}, dtype, stream);
    p.set_grad(gradient);
    adam.step();
    for (size_t i = 0; i < want.size(); ++i) {
      double g = static_cast<double>(gradient.data<T>()[i]);
      if (decoupled)
        want[i] *= 1 - lr * decay;
      else
        g += decay * want[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      want[i] -= lr / (1 - std::pow(beta1, t)) * m[i] / (std::sqrt(v[i] / (1 - std::pow(beta2, t))) + eps);
    }
  }
  EXPECT_TRUE(tensors_near(p.detach(), from_vector(want).to(dtype), tolerance)) << n << " values";
}

TEST(Adam, KernelFollowsTheFormulaAtEveryLevel) {
  const kernels::Isa best = kernels::isa();
  for (const kernels::Isa level : {kernels::Isa::portable, kernels::Isa::v2, kernels::Isa::v3, kernels::Isa::v4}) {
    if (!kernels::has_level(level)) continue;
    kernels::set_isa(level);
    SCOPED_TRACE(to_string(level));
    for (const int64_t n : {1, 3, 7, 8, 15, 16, 17, 33, 1000, 70001})
      for (const bool decoupled : {false, true}) {
        expect_formula<float>(n, decoupled, 3e-6);
        expect_formula<double>(n, decoupled, 1e-13);
      }
  }
  kernels::set_isa(best);
}

TEST(Adam, MovesByTheLearningRateInTheFirstStep) {
  Tensor p = tensor({1, 1, 1}, f64).requires_grad_();
  Adam adam({p}, {.lr = 0.25, .eps = 0});
  p.set_grad(tensor({1e-6, -3, 1e6}, f64));
  adam.step();
  EXPECT_TRUE(tensors_near(p.detach(), tensor({0.75, 1.25, 0.75}, f64), 1e-14));
}

TEST(Adam, RefusesSettingsOutOfRange) {
  const Tensor p = zeros({2}).requires_grad_();
  EXPECT_TAPE_ERROR(Adam({p}, {.lr = NAN}), ErrorKind::config, "Adam: lr must be a number >= 0, got nan");
  EXPECT_TAPE_ERROR(Adam({p}, {.betas = {0.9, 1}}), ErrorKind::config, "Adam: betas must be in [0, 1), got 0.9 and 1");
  EXPECT_TAPE_ERROR(Adam({p}, {.betas = {-0.1, 0.5}}), ErrorKind::config,
                    "Adam: betas must be in [0, 1), got -0.1 and 0.5");
  EXPECT_TAPE_ERROR(Adam({p}, {.eps = -1e-8}), ErrorKind::config, "Adam: eps must be a number >= 0, got -1e-08");
  EXPECT_TAPE_ERROR(Adam({p}, {.weight_decay = INFINITY}), ErrorKind::config,
                    "Adam: weight_decay must be a number >= 0, got inf");
}

}  // namespace
}  // namespace tape::optim
