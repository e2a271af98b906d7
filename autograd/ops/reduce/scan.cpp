#include "autograd/ops/reduce/scan.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/reduce/scan.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/selected_values.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Op cumprod_op({.name = "cumprod",
                     .formula = {.forward = "y{y}ⱼ = Πᵢ≤ⱼ xᵢ along axis {axis}",
                                 .backward = {"dxᵢ = yᵢ₋₁ gᵢ, gᵢ = dyᵢ + xᵢ₊₁ gᵢ₊₁"}}});

const Op logcumsumexp_op({.name = "logcumsumexp",
                          .formula = {.forward = "y{y}ⱼ = ln Σᵢ≤ⱼ exp xᵢ along axis {axis}",
                                      .backward = {"dxᵢ = Σⱼ≥ᵢ dyⱼ exp(xᵢ − yⱼ)"}}});

const Op cummax_op({.name = "cummax",
                    .formula = {.forward = "y{y}ⱼ = the largest of xᵢ, i ≤ j, along axis {axis}",
                                .backward = {"dx = 0, plus each element of dy at the position it came from"}},
                    .traits = {.has_kinks = true}});

const Op cummin_op({.name = "cummin",
                    .formula = {.forward = "y{y}ⱼ = the smallest of xᵢ, i ≤ j, along axis {axis}",
                                .backward = {"dx = 0, plus each element of dy at the position it came from"}},
                    .traits = {.has_kinks = true}});

const Op linear_scan_op({.name = "linear_scan",
                         .formula = {.forward = "y{y}ₜ = aₜ yₜ₋₁ + bₜ along axis {axis}<reverse:, from the end>",
                                     .backward = {"daₜ = gₜ yₜ₋₁, gₜ = dyₜ + aₜ₊₁ gₜ₊₁", "dbₜ = gₜ"}}});

/// x shifted by one along the axis: position i has element i - 1, or i + 1 if `later`; `edge` at the end.
Tensor shift_by_one(const Tensor& x, int64_t axis, bool later, double edge) {
  const int64_t size = x.size(axis);
  if (size == 0) return x;
  const Tensor ends = full(x.shape().with(axis, 1), edge, x.options());
  if (later) return cat({slice(x, axis, {.start = 1}), ends}, axis);
  return cat({ends, slice(x, axis, {.end = size - 1})}, axis);
}

/// exp(x - y) summed from the end, with no positive exponent. Where y is -inf, so is x, and the gradient is 0.
Tensor logcumsumexp_gradient(const Tensor& x, const Tensor& y, const Tensor& dy, int64_t axis) {
  const SliceOptions but_last{.end = x.size(axis) - 1}, but_first{.start = 1};
  const Tensor nothing = eq(y.detach(), -INFINITY), total = masked_fill(y, nothing, 0);
  const Tensor before = slice(total, axis, but_last), after = slice(total, axis, but_first);
  const Tensor falls = masked_fill(before - after, eq(before.detach(), after.detach()), 0);  // avoids inf - inf
  const Tensor ratios = exp(masked_fill(falls, slice(nothing, axis, but_last), -INFINITY));
  const Tensor factors = cat({ratios, zeros(x.shape().with(axis, 1), x.options())}, axis);
  // g[t] = dy[t] + factors[t] g[t + 1]
  return exp(masked_fill(x - total, nothing, -INFINITY)) * linear_scan(factors, dy, axis, {.reverse = true});
}

struct CumulativeExtremum : SelectedValues {
  bool largest;

  void forward(const auto& c) const {
    const Extents e(from, axis);
    kernels::scan(c).cumulative_extremum(e.outer, e.size, e.inner, c.in(0), largest, c.out(), positions(c));
  }
};

TopK cumulative_extremum(const Op& op, const Tensor& x, int64_t axis, bool largest) {
  axis = x.shape().axis(axis, op.name());
  const auto [values, indices] =
      fused(op, {x}, CumulativeExtremum{{x.shape(), axis, x.shape()}, largest}, {{"axis", axis}});
  return {values, indices};
}

struct Cumprod {
  Extents e;
  int64_t axis;
  static constexpr bool saves_outputs = true;

  void forward(const auto& c) const { kernels::scan(c).cumprod(e.outer, e.size, e.inner, c.in(0), c.out()); }
  void backward(const auto& c) const {
    kernels::scan(c).cumprod_backward(e.outer, e.size, e.inner, c.in(0), c.out(), c.dout(), c.din(0));
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor g = linear_scan(shift_by_one(c.saved(0), axis, true, 0), c.grad(), axis, {.reverse = true});
    return {g * shift_by_one(c.saved(1), axis, false, 1)};
  }
};

struct LogCumSumExp {
  Extents e;
  int64_t axis;
  static constexpr bool saves_outputs = true;

  void forward(const auto& c) const { kernels::scan(c).logcumsumexp(e.outer, e.size, e.inner, c.in(0), c.out()); }
  void backward(const auto& c) const {
    kernels::scan(c).logcumsumexp_backward(e.outer, e.size, e.inner, c.in(0), c.out(), c.dout(), c.din(0));
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor x = c.saved(0);
    return {x.numel() == 0 ? zeros_like(x) : logcumsumexp_gradient(x, c.saved(1), c.grad(), axis)};
  }
};

struct LinearScan {
  Extents e;
  int64_t axis;
  bool reverse;
  static constexpr bool saves_outputs = true;

  void forward(const auto& c) const {
    kernels::scan(c).linear(e.outer, e.size, e.inner, c.in(0), c.in(1), c.out(), reverse);
  }
  Tensor saved_input(size_t i, Inputs in) const { return i == 0 ? in[0] : Tensor(); }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor next = shift_by_one(c.saved(0), axis, !reverse, 0);
    const Tensor g = linear_scan(next, c.grad(), axis, {.reverse = !reverse});
    return {c.needs(0) ? g * shift_by_one(c.saved(2), axis, reverse, 0) : Tensor(), g};
  }
};

}  // namespace

Tensor cumprod(const Tensor& x, int64_t axis) {
  axis = x.shape().axis(axis, "cumprod");
  return fused(cumprod_op, {x}, Cumprod{Extents(x.shape(), axis), axis}, {{"axis", axis}});
}

Tensor logcumsumexp(const Tensor& x, int64_t axis) {
  axis = x.shape().axis(axis, "logcumsumexp");
  return fused(logcumsumexp_op, {x}, LogCumSumExp{Extents(x.shape(), axis), axis}, {{"axis", axis}});
}

TopK cummax(const Tensor& x, int64_t axis) { return cumulative_extremum(cummax_op, x, axis, true); }
TopK cummin(const Tensor& x, int64_t axis) { return cumulative_extremum(cummin_op, x, axis, false); }

Tensor linear_scan(const Tensor& a, const Tensor& b, int64_t axis, const ScanOptions& options) {
  axis = a.shape().axis(axis, "linear_scan");
  check_same_dtype("linear_scan", a, b);
  if (a.shape() != b.shape())
    raise(ErrorKind::shape, "linear_scan: shapes differ: {} and {}", to_string(a.shape()), to_string(b.shape()));
  return fused(linear_scan_op, {a, b}, LinearScan{Extents(a.shape(), axis), axis, options.reverse},
               {{"axis", axis}, {"reverse", options.reverse}});
}

}  // namespace tape
