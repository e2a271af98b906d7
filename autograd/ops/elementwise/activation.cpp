#include "autograd/ops/elementwise/activation.h"

#include "autograd/kernels/elementwise/parametric.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/elementwise/unary_call.h"

namespace tape {
namespace {

/// y = f(x; a, b). `choose` selects the kernel loops; `gradient(context)` computes the gradient for higher-order
/// differentiation.
template <class Choose, class Gradient>
struct Parametric {
  Choose choose;
  double a, b;
  Gradient gradient;
  static constexpr bool reuses_saved = true;

  void forward(const auto& c) const { choose(kernels::parametric(c)).forward(c.numel(), a, b, c.in(0), c.out()); }
  void backward(const auto& c) const {
    choose(kernels::parametric(c)).backward(c.numel(), a, b, c.in(0), c.dout(), c.din(0));
  }
  Tensors gradients(const BackwardContext& c) const { return {gradient(c)}; }
};

template <class Choose, class Gradient>
Tensor parametric(const Op& op, const Choose& choose, const Tensor& x, double a, double b, const Gradient& gradient,
                  AttributeList attributes) {
  return fused(op, {x}, Parametric<Choose, Gradient>{choose, a, b, gradient}, attributes);
}

const Op softplus_op({.name = "softplus",
                      .formula = {.forward = "y{y} = ln(1 + exp({beta} x)) / {beta}",
                                  .backward = {"dx = dy ⊙ sigmoid({beta} x)"}}});

const Op leaky_relu_op({.name = "leaky_relu",
                        .formula = {.forward = "y{y} = max(x, 0) + {slope} min(x, 0)",
                                    .backward = {"dx = dy where x > 0, else {slope} dy"}},
                        .traits = {.has_kinks = true}});

const Op elu_op({.name = "elu",
                 .formula = {.forward = "y{y} = max(x, 0) + {alpha} (exp(min(x, 0)) − 1)",
                             .backward = {"dx = dy where x > 0, else {alpha} exp(x) ⊙ dy"}},
                 .traits = {.has_kinks = true}});

const UnaryOp mish_op({.name = "mish",
                       .formula = {.forward = "y{y} = x ⊙ t, t = tanh(ln(1 + exp x))",
                                   .backward = {"dx = dy ⊙ (t + x ⊙ sigmoid(x) ⊙ (1 − t²))"}}},
                      &kernels::UnaryKernels::mish, [](Context c) {
                        const Tensor v = within_limits(c.saved(0)), t = tanh(softplus(v));
                        return c.grad() * (t + v * sigmoid(v) * (1 - square(t)));
                      });

}  // namespace

Tensor softplus(const Tensor& x, const SoftplusOptions& options) {
  const double beta = options.beta, threshold = options.threshold;
  if (!(beta > 0)) raise(ErrorKind::config, "softplus: beta must be above 0, got {}", beta);
  return parametric(
      softplus_op, [](const auto& table) -> const auto& { return table.softplus; }, x, beta, threshold,
      [=](const BackwardContext& c) {
        const Tensor v = c.saved(0) * beta;
        return where(gt(v.detach(), threshold), c.grad(), c.grad() * sigmoid(v));
      },
      {{"beta", beta}, {"threshold", threshold}});
}

Tensor leaky_relu(const Tensor& x, double slope) {
  return parametric(
      leaky_relu_op, [](const auto& table) -> const auto& { return table.leaky_relu; }, x, slope, 0,
      [=](const BackwardContext& c) { return where(gt(c.saved(0).detach(), 0), c.grad(), c.grad() * slope); },
      {{"slope", slope}});
}

Tensor elu(const Tensor& x, double alpha) {
  return parametric(
      elu_op, [](const auto& table) -> const auto& { return table.elu; }, x, alpha, 0,
      [=](const BackwardContext& c) {
        const Tensor above = gt(c.saved(0).detach(), 0);
        // Excludes large values, whose exponentials would be infinite.
        return where(above, c.grad(), c.grad() * (alpha * exp(masked_fill(c.saved(0), above, 0))));
      },
      {{"alpha", alpha}});
}

Tensor mish(const Tensor& x) { return mish_op(x); }
}  // namespace tape
