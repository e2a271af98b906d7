#include "autograd/ops/loss/regression_loss.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "autograd/kernels/loss/loss.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Op smooth_l1_loss_op(
    {.name = "smooth_l1_loss",
     .formula = {.forward = "y{y} = d² / (2 · {beta}) where d = |x − t| is below {beta}, else d − {beta} / 2",
                 .backward = {"dx = dy ⊙ clamp((x − t) / {beta}, −1, 1)", "dt = −dx"}}});

const Op huber_loss_op(
    {.name = "huber_loss",
     .formula = {.forward = "y{y} = d² / 2 where d = |x − t| is below {delta}, else {delta} (d − {delta} / 2)",
                 .backward = {"dx = dy ⊙ clamp(x − t, −{delta}, {delta})", "dt = −dx"}}});

const Op gaussian_nll_loss_op(
    {.name = "gaussian_nll_loss",
     .formula = {.forward = "y{y} = (ln v + (x − t)² / v) / 2<full: + ln(2π) / 2>, v = max(var{2}, {eps})",
                 .backward = {"dx = dy ⊙ (x − t) / v", "dt = −dx", "dvar = dy ⊙ (1 − (x − t)² / v) / (2 v)"},
                 .summed = Summed::repeated_axes}});

/// smooth_l1_loss and huber_loss, which differ only in scale.
struct Huber {
  double limit, scale;

  void forward(const auto& c) const { kernels::loss(c).huber(c.numel(), limit, scale, c.in(0), c.in(1), c.out()); }
  void backward(const auto& c) const {
    kernels::loss(c).huber_backward(c.numel(), limit, scale, c.in(0), c.in(1), c.dout(), c.din(0), c.din(1));
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor dx = c.grad() * (clamp(c.saved(0) - c.saved(1), -limit, limit) * scale);
    return {dx, c.needs(1) ? -dx : Tensor()};
  }
};

/// Variances with x's number of axes, at least eps; gradients ignore the lower bound.
Tensor clamped_variance(const Tensor& var, double eps) { return var + relu(eps - var.detach()); }

Tensor variance_for(const Tensor& x, const Tensor& var) {
  const int64_t last = x.rank() - 1;
  if (var.shape() == x.shape()) return var;
  if (last >= 0 && var.shape() == x.shape().with(last, 1)) return var;
  if (last >= 0 && var.shape() == x.shape().removed(last)) return unsqueeze(var, -1);
  raise(ErrorKind::shape, "gaussian_nll_loss: var must have x's shape {}, or size 1 in its last axis, got {}",
        to_string(x.shape()), to_string(var.shape()));
}

}  // namespace

Tensor mse_loss(const Tensor& given, const Tensor& given_target, Reduction reduction) {
  const auto [x, target] = loss_pair("mse_loss", given, given_target);
  return reduced(square(x - target), reduction);
}

Tensor l1_loss(const Tensor& given, const Tensor& given_target, Reduction reduction) {
  const auto [x, target] = loss_pair("l1_loss", given, given_target);
  return reduced(abs(x - target), reduction);
}

Tensor smooth_l1_loss(const Tensor& given, const Tensor& given_target, const SmoothL1Options& options) {
  const double beta = options.beta;
  const auto [x, target] = loss_pair("smooth_l1_loss", given, given_target);
  if (!(beta >= 0) || std::isinf(beta))
    raise(ErrorKind::config, "smooth_l1_loss: beta must be at least 0 and finite, got {}", beta);
  if (beta == 0) return l1_loss(x, target, options.reduction);
  return reduced(fused(smooth_l1_loss_op, {x, target}, Huber{beta, 1 / beta}, {{"beta", beta}}), options.reduction);
}

Tensor huber_loss(const Tensor& given, const Tensor& given_target, const HuberOptions& options) {
  const double delta = options.delta;
  const auto [x, target] = loss_pair("huber_loss", given, given_target);
  if (!(delta > 0) || std::isinf(delta))
    raise(ErrorKind::config, "huber_loss: delta must be above 0 and finite, got {}", delta);
  return reduced(fused(huber_loss_op, {x, target}, Huber{delta, 1}, {{"delta", delta}}), options.reduction);
}

Tensor gaussian_nll_loss(const Tensor& given, const Tensor& given_target, const Tensor& given_var,
                         const GaussianNllOptions& options) {
  const auto [x, target] = loss_pair("gaussian_nll_loss", given, given_target);
  const Tensor var = loss_operand(given_var);
  check_same_dtype("gaussian_nll_loss", x, var);
  const double eps = options.eps;
  if (!(eps > 0) || std::isinf(eps))
    raise(ErrorKind::config, "gaussian_nll_loss: eps must be above 0 and finite, got {}", eps);
  check_none(ErrorKind::numeric, "gaussian_nll_loss", lt(var, 0), [shape = var.shape()](int64_t) {
    return fmt::format("var {} contains a negative value", to_string(shape));
  });
  const double constant = options.full ? std::log(2 * std::numbers::pi) / 2 : 0;
  const auto losses = [&](const Tensor& mean, const Tensor& of, const Tensor& variance) {
    const Tensor v = clamped_variance(variance.detach(), eps);
    return record(gaussian_nll_loss_op, {mean, of, variance},
                  affine(log(v) + square(mean.detach() - of.detach()) / v, 0.5, constant), {mean, of, variance},
                  [eps](const BackwardContext& c) -> Tensors {
                    const Tensor share = c.grad() / clamped_variance(c.saved(2), eps), d = c.saved(0) - c.saved(1),
                                 dx = share * d;
                    Tensor dvar;
                    if (c.needs(2)) dvar = 0.5 * (share - dx * d / clamped_variance(c.saved(2), eps));
                    return {dx, c.needs(1) ? -dx : Tensor(), dvar};
                  },
                  {{"full", options.full}, {"eps", eps}});
  };
  return reduced(in_compute_dtype(losses, x, target, variance_for(x, var)), options.reduction);
}

}  // namespace tape
