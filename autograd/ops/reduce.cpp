#include "autograd/ops/reduce.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/reduce.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/check.h"
#include "autograd/ops/compare.h"
#include "autograd/ops/op.h"
#include "autograd/ops/shape.h"
#include "autograd/ops/unary.h"

namespace tape {
namespace {

/// x seen as [outer, size, inner] with the reduced axes in the middle: moved there first where they are not neighbours.
struct ReductionPlan {
  Tensor values;
  int64_t outer = 1, size = 1, inner = 1;
  std::vector<int64_t> axes;  // the reduced ones
  Shape kept;                 // every axis, reduced ones with size 1
  Shape dropped;              // without the reduced axes
};

ReductionPlan plan_reduction(const char* name, const Tensor& x, const Axes& axes) {
  const std::vector<bool> reduced = axes.mask(x.shape(), name);
  std::vector<int64_t> kept, dropped, order, behind;
  int groups = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const bool gone = reduced[static_cast<size_t>(i)];
    kept.push_back(gone ? 1 : x.shape()[i]);
    if (!gone) dropped.push_back(x.shape()[i]);
    (gone ? behind : order).push_back(i);
    groups += gone && (i == 0 || !reduced[static_cast<size_t>(i - 1)]);
  }
  ReductionPlan plan{.values = x.detach(), .axes = behind, .kept = Shape(kept), .dropped = Shape(dropped)};
  if (groups > 1) {
    order.insert(order.end(), behind.begin(), behind.end());
    plan.values = permute(plan.values, order);
    plan.outer = plan.dropped.numel();
    for (int64_t axis : behind) plan.size *= x.shape()[axis];
    return plan;
  }
  bool before = true;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const bool gone = reduced[static_cast<size_t>(i)];
    before = before && !gone;
    (gone ? plan.size : before ? plan.outer : plan.inner) *= x.shape()[i];
  }
  return plan;
}

void check_not_empty(const char* name, const Tensor& x, const ReductionPlan& plan) {
  if (plan.size == 0 && plan.dropped.numel() > 0)
    raise(ErrorKind::shape, "{}: nothing to reduce in {}", name, to_string(x.shape()));
}

template <class F>
std::function<std::vector<OpSample>()> samples(F f, Tensor (*values)(const Shape&, uint64_t)) {
  return [=] {
    const auto over = [&](const char* label, const Shape& shape, const Axes& axes, Dims dims) {
      return OpSample{label, {values(shape, 1)}, [=](const Tensors& in) { return f(in[0], axes, dims); }};
    };
    return std::vector{
        over("all", {2, 3, 4}, {}, Dims::drop),       over("last", {2, 3, 4}, -1, Dims::keep),
        over("first", {2, 3, 4}, 0, Dims::drop),      over("middle", {2, 3, 4}, 1, Dims::drop),
        over("apart", {2, 3, 4}, {0, 2}, Dims::keep), over("apart, dropped", {2, 3, 4, 2}, {1, 3}, Dims::drop),
        over("rank 0", {}, {}, Dims::drop),           over("size 1", {1, 3}, 0, Dims::drop)};
  };
}

const Op sum_op({.name = "sum",
                 .formula = {.forward = "y{y} = x{0} summed over axes {axes}",
                             .backward = {"dx{x} = dy{y} repeated along these axes"}},
                 .samples = samples([](auto& x, auto& axes, Dims d) { return sum(x, axes, d); }, sample_normal)});

const Op max_op({.name = "max",
                 .formula = {.forward = "y{y} = the largest of x{0} over axes {axes}",
                             .backward = {"dx{x} = dy{y} where x is the largest, shared equally among ties, else "
                                          "0"}},
                 .traits = {.kinks = true},
                 .samples = samples([](auto& x, auto& axes, Dims d) { return max(x, axes, d); }, sample_distinct)});

const Op min_op({.name = "min",
                 .formula = {.forward = "y{y} = the least of x{0} over axes {axes}",
                             .backward = {"dx{x} = dy{y} where x is the least, shared equally among ties, else 0"}},
                 .traits = {.kinks = true},
                 .samples = samples([](auto& x, auto& axes, Dims d) { return min(x, axes, d); }, sample_distinct)});

/// y = log sum e^x; dx = dy e^(x - y), and 0 in a group of nothing but -inf.
const Op logsumexp_op({.name = "logsumexp",
                       .formula = {.forward = "y{y} = ln Σ exp x{0} over axes {axes}",
                                   .backward = {"dx{x} = dy{y} ⊙ exp(x − y), repeated along the summed axes"}},
                       .samples = samples([](auto& x, auto& axes, Dims d) { return logsumexp(x, axes, d); },
                                          sample_normal)});

Tensor extreme(const Op& op, const Tensor& x, const Axes& axes, Dims dims, bool largest) {
  const ReductionPlan plan = plan_reduction(op.name(), x, axes);
  check_not_empty(op.name(), x, plan);
  Tensor y = empty(dims == Dims::keep ? plan.kept : plan.dropped, x.dtype());
  dispatch_floating(op.name(), x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernel = kernels::reduce<T>();
    (largest ? kernel.max : kernel.min)(plan.outer, plan.size, plan.inner, plan.values.data<T>(), y.mutable_data<T>(),
                                        nullptr);
  });
  return record(op, {x}, y, {x, y},
                [axes, kept = plan.kept](const BackwardContext& c) -> Tensors {
                  const Tensor value = c.saved(0).detach();
                  const Tensor best = cast(eq(value, reshape(c.saved(1).detach(), kept)), value.dtype());
                  return {reshape(c.grad(), kept) * (best / sum(best, axes, Dims::keep))};
                },
                {{"axes", plan.axes}, {"keepdim", dims == Dims::keep}});
}

Tensor arg_extreme(const char* name, const Tensor& x, int64_t axis, Dims dims, bool largest) {
  const ReductionPlan plan = plan_reduction(name, x, axis);
  check_not_empty(name, x, plan);
  Tensor index = empty(dims == Dims::keep ? plan.kept : plan.dropped, i64);
  // i64 values beyond 2^53 are not expected as scores; they are compared as f64.
  const Tensor values = is_floating(x.dtype()) ? plan.values : cast(plan.values, f64);
  dispatch_floating(name, values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor best = empty(index.shape(), values.dtype());
    const auto& kernel = kernels::reduce<T>();
    (largest ? kernel.max : kernel.min)(plan.outer, plan.size, plan.inner, values.data<T>(), best.mutable_data<T>(),
                                        index.mutable_data<int64_t>());
  });
  return index;
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, Dims dims) {
  const ReductionPlan plan = plan_reduction("sum", x, axes);
  const Shape shape = dims == Dims::keep ? plan.kept : plan.dropped;
  if (!is_floating(x.dtype())) {
    // Counts stay exact in double up to 2^53, far beyond any tensor's size.
    const Tensor total = sum(cast(x.detach(), f64), axes, dims);
    return cast(total, i64);
  }
  Tensor y = empty(shape, x.dtype());
  dispatch_floating("sum", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::reduce<T>().sum(plan.outer, plan.size, plan.inner, plan.values.data<T>(), y.mutable_data<T>());
  });
  return record(sum_op, {x}, y, {},
                [from = x.shape(), kept = plan.kept](const BackwardContext& c) -> Tensors {
                  return {expand_to(reshape(c.grad(), kept), from)};
                },
                {{"axes", plan.axes}, {"keepdim", dims == Dims::keep}});
}

Tensor mean(const Tensor& x, const Axes& axes, Dims dims) {
  const ReductionPlan plan = plan_reduction("mean", x, axes);
  check_not_empty("mean", x, plan);
  check_floating("mean", x);
  return sum(x, axes, dims) * (1.0 / static_cast<double>(plan.size));
}

Tensor max(const Tensor& x, const Axes& axes, Dims dims) { return extreme(max_op, x, axes, dims, true); }
Tensor min(const Tensor& x, const Axes& axes, Dims dims) { return extreme(min_op, x, axes, dims, false); }

Tensor var(const Tensor& x, const Axes& axes, const VarOptions& options) {
  check_floating("var", x);
  const ReductionPlan plan = plan_reduction("var", x, axes);
  if (plan.size <= options.correction)
    raise(ErrorKind::shape, "var: {} values for correction {} in {}", plan.size, options.correction,
          to_string(x.shape()));
  const Tensor centered = x - mean(x, axes, Dims::keep);
  return sum(square(centered), axes, options.dims) * (1.0 / static_cast<double>(plan.size - options.correction));
}

Tensor logsumexp(const Tensor& x, const Axes& axes, Dims dims) {
  check_floating("logsumexp", x);
  const ReductionPlan plan = plan_reduction("logsumexp", x, axes);
  Tensor y;
  {
    const NoGrad no_grad;
    const Tensor largest = plan.size == 0 ? full(plan.kept, -INFINITY, x.dtype()) : max(x, axes, Dims::keep);
    // An infinite maximum would give inf - inf; without it the sum is 0 or infinite by itself.
    const Tensor shift = masked_fill(largest, eq(abs(largest), INFINITY), 0);
    y = reshape(log(sum(exp(x - shift), axes, Dims::keep)) + shift, dims == Dims::keep ? plan.kept : plan.dropped);
  }
  y = y.detach();
  return record(logsumexp_op, {x}, y, {x, y},
                [kept = plan.kept](const BackwardContext& c) -> Tensors {
                  const Tensor total = reshape(c.saved(1), kept);
                  const Tensor finite = masked_fill(total, eq(total.detach(), -INFINITY), 0);
                  return {reshape(c.grad(), kept) * exp(c.saved(0) - finite)};
                },
                {{"axes", plan.axes}, {"keepdim", dims == Dims::keep}});
}

Tensor argmax(const Tensor& x, int64_t axis, Dims dims) { return arg_extreme("argmax", x, axis, dims, true); }
Tensor argmin(const Tensor& x, int64_t axis, Dims dims) { return arg_extreme("argmin", x, axis, dims, false); }

Tensor any(const Tensor& x, const Axes& axes, Dims dims) {
  if (x.dtype() != boolean) raise(ErrorKind::dtype, "any: needs bool, got {}", to_string(x.dtype()));
  return gt(sum(x, axes, dims), 0);
}

Tensor all(const Tensor& x, const Axes& axes, Dims dims) {
  if (x.dtype() != boolean) raise(ErrorKind::dtype, "all: needs bool, got {}", to_string(x.dtype()));
  return logical_not(any(logical_not(x), axes, dims));
}

}  // namespace tape
