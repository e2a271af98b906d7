#include "autograd/ops/reduce/statistics.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/index/index.h"
#include "autograd/kernels/reduce/fold.h"
#include "autograd/kernels/reduce/reduce.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/selected_values.h"
#include "autograd/ops/reduce/reduction_plan.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Op nansum_op({.name = "nansum",
                    .formula = {.forward = "y{y} = the values of x{0} that are not NaN, summed over axes {axes}",
                                .backward = {"dx{x} = dy{y} repeated along these axes, 0 where x is NaN"}}});

const Op median_op({.name = "median",
                    .formula = {.forward = "y{y} = the median of x{0}<axis: along axis {axis}>",
                                .backward = {"dx{x} = 0, with each element of dy{y} at the position it came from"}},
                    .traits = {.has_kinks = true}});

const Op norm_op({.name = "norm",
                  .formula = {.forward = "y{y} = (Σ |x{0}|ᵖ)^(1/p) over axes {axes}, p = {p}",
                              .backward = {"dx{x} = dy{y} ⊙ sign(x) ⊙ (|x| / y)ᵖ⁻¹, 0 where y is 0"}},
                  .traits = {.has_kinks = true}});

struct Norm : ReducedAxes {
  double p;
  static constexpr bool saves_outputs = true;

  template <class T>
  void forward(const ForwardCall<T>& c) const {
    const auto& table = kernels::fold_axis(c);
    if (p == 1) return fold(c, table.sum_of_abs);
    if (p == 2)
      fold(c, table.sum_of_squares);
    else if (p > 0)
      fold(c, table.sum_of_abs_powers, static_cast<T>(p));
    else
      kernels::reduce(c).sum(plan.outer, plan.size, plan.inner,
                             c.at().template in<T>(plan.ordered(pow(abs(c.input(0).detach()), p))), c.out());
    kernels::elementwise(c).pow_scalar(c.numel(), c.out(), 1 / p, c.out());
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor x = c.saved(0), y = reshape(c.saved(1), plan.kept), dy = reshape(c.grad(), plan.kept);
    if (p == 1) return {dy * sign(x.detach())};
    const Tensor length = masked_fill(y, eq(y.detach(), 0), 1);
    if (p == 2) return {x * masked_fill(dy / length, eq(y.detach(), 0), 0)};
    // For negative powers 0 would give infinity; its sign is 0 in any case.
    const Tensor size = masked_fill(abs(x), eq(x.detach(), 0), 1);
    const Tensor dx = sign(x.detach()) * pow(size, p - 1) * (dy * pow(length, 1 - p));
    // For p below 0 a single 0 makes the norm 0, regardless of the others.
    return {p < 0 ? masked_fill(dx, eq(y.detach(), 0), 0) : dx};
  }
};

struct NanSum : ReducedAxes {
  void forward(const auto& c) const { fold(c, kernels::fold_axis(c).nansum); }
  Tensors gradients(const BackwardContext& c) const {
    return {where(isnan(c.saved(0)), scalar(0, c.grad().options()), reshape(c.grad(), plan.kept))};
  }
};

/// Sorted positions that a quantile interpolates, and the weight of the upper one.
struct QuantilePosition {
  int64_t lower, upper;
  double weight;
};

QuantilePosition quantile_position(double q, int64_t size, Interpolation interpolation) {
  if (!(q >= 0 && q <= 1)) raise(ErrorKind::config, "quantile: q must be in [0, 1], got {}", q);
  const double exact = q * static_cast<double>(size - 1);
  const int64_t below = static_cast<int64_t>(std::floor(exact)), above = static_cast<int64_t>(std::ceil(exact));
  switch (interpolation) {
    case Interpolation::lower:
      return {below, below, 0};
    case Interpolation::higher:
      return {above, above, 0};
    case Interpolation::midpoint:
      return {below, above, 0.5};
    case Interpolation::nearest: {
      const int64_t nearest = static_cast<int64_t>(std::nearbyint(exact));
      return {nearest, nearest, 0};
    }
    case Interpolation::linear:
      break;
  }
  return {below, above, exact - static_cast<double>(below)};
}

/// Interpolates two positions along the axis of sorted values; the axis has size 1.
Tensor interpolate(const Tensor& sorted, const QuantilePosition& place, int64_t axis) {
  Tensor lower = slice(sorted, axis, {.start = place.lower, .end = place.lower + 1});
  if (place.weight == 0) return lower;
  return lerp(lower, slice(sorted, axis, {.start = place.upper, .end = place.upper + 1}), place.weight);
}

struct MedianAlongAxis : SelectedValues {
  void forward(const auto& c) const {
    const Extents e(from, axis);
    kernels::index(c).median(e.outer, e.size, e.inner, c.in(0), c.out(), positions(c));
  }
};

}  // namespace

Tensor std(const Tensor& x, const Axes& axes, const VarOptions& options) {
  check_floating("std", x);
  if (is_half(x.dtype())) return in_compute_dtype([&](const Tensor& wide) { return std(wide, axes, options); }, x);
  ReductionPlan("std", x.shape(), axes).check_correction("std", options.correction);
  const Tensor variance = var(x, axes, options), none = eq(variance.detach(), 0);
  return masked_fill(sqrt(masked_fill(variance, none, 1)), none, 0);
}

Tensor nansum(const Tensor& x, const Axes& axes, Dims dims) {
  const ReductionPlan plan("nansum", x.shape(), axes);
  if (!is_floating(x.dtype())) raise(ErrorKind::dtype, "nansum: needs f32 or f64, got {}", to_string(x.dtype()));
  return reduced(nansum_op, x, NanSum{{plan, dims}});
}

TopK median(const Tensor& x, int64_t axis, Dims dims) {
  axis = x.shape().axis(axis, "median");
  const ReductionPlan plan("median", x.shape(), axis);
  plan.check_not_empty("median");
  const auto [values, indices] = fused(median_op, {x}, MedianAlongAxis{{x.shape(), axis, plan.kept}}, {{"axis", axis}});
  TopK middle{values, indices};
  if (dims == Dims::drop) middle = {reshape(middle.values, plan.dropped), reshape(middle.indices, plan.dropped)};
  return middle;
}

Tensor median(const Tensor& x) {
  check_floating("median", x);
  if (x.numel() == 0) raise(ErrorKind::shape, "median: nothing to reduce in {}", to_string(x.shape()));
  const Tensor y = reshape(median(reshape(x.detach(), {x.numel()}), 0).values, Shape{}).clone();
  return record(median_op, {x}, y, {x, y}, [](const BackwardContext& c) -> Tensors {
    const Tensor values = c.saved(0).detach(), middle = c.saved(1).detach();
    const Tensor equal = cast(where(isnan(middle), isnan(values), eq(values, middle)), values.dtype());
    return {c.grad() * (equal / sum(equal))};
  });
}

Tensor quantile(const Tensor& x, double q, int64_t axis, const QuantileOptions& options) {
  return squeeze(quantile(x, std::vector<double>{q}, axis, options), 0);
}

Tensor quantile(const Tensor& x, const std::vector<double>& q, int64_t axis, const QuantileOptions& options) {
  axis = x.shape().axis(axis, "quantile");
  check_floating("quantile", x);
  const ReductionPlan plan("quantile", x.shape(), axis);
  plan.check_not_empty("quantile");
  const Tensor sorted = sort(x, axis).values;
  // NaN sorts last: if there is one, the result is NaN.
  const Tensor last = slice(sorted, axis, {.start = plan.size - 1}), unknown = isnan(last);
  Tensors all;
  for (const double share : q) {
    const Tensor value = interpolate(sorted, quantile_position(share, plan.size, options.interpolation), axis);
    all.push_back(reshape(where(unknown, last, value), plan.shape(options.dims)));
  }
  return stack(all, 0);
}

Tensor quantile(const Tensor& x, double q) { return quantile(flatten(x), q, 0); }

Tensor norm(const Tensor& x, double p, const Axes& axes, Dims dims) {
  check_floating("norm", x);
  if (std::isnan(p)) raise(ErrorKind::config, "norm: p must be a number, got nan");
  const ReductionPlan plan("norm", x.shape(), axes);
  if (std::isinf(p)) {
    plan.check_not_empty("norm");
    return in_compute_dtype([&](const Tensor& wide) { return (p > 0 ? max : min)(abs(wide), axes, dims); }, x);
  }
  if (p == 0) return sum(cast(ne(x.detach(), 0), x.dtype()), axes, dims);
  return fused(norm_op, {x}, Norm{{plan, dims}, p}, {{"axes", plan.axes}, {"p", p}, {"keepdim", dims == Dims::keep}});
}

}  // namespace tape
