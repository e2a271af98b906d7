#include "autograd/ops/reduce/reduce.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/elementwise/common/whole_numbers.h"
#include "autograd/kernels/reduce/fold.h"
#include "autograd/kernels/reduce/reduce.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduction_plan.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

template <class F>
std::function<std::vector<OpSample>()> reduction_samples(F f, Tensor (*values)(const Shape&, uint64_t)) {
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
                 .samples = reduction_samples([](auto& x, auto& axes, Dims d) { return sum(x, axes, d); },
                                              sample_normal)});

const Op max_op({.name = "max",
                 .formula = {.forward = "y{y} = the largest of x{0} over axes {axes}",
                             .backward = {"dx{x} = dy{y} where x is the largest, shared equally among ties, else "
                                          "0"}},
                 .traits = {.kinks = true},
                 .samples = reduction_samples([](auto& x, auto& axes, Dims d) { return max(x, axes, d); },
                                              sample_distinct)});

const Op min_op({.name = "min",
                 .formula = {.forward = "y{y} = the least of x{0} over axes {axes}",
                             .backward = {"dx{x} = dy{y} where x is the least, shared equally among ties, else 0"}},
                 .traits = {.kinks = true},
                 .samples = reduction_samples([](auto& x, auto& axes, Dims d) { return min(x, axes, d); },
                                              sample_distinct)});

/// y = log sum e^x; dx = dy e^(x - y), and 0 in a group of nothing but -inf.
const Op logsumexp_op({.name = "logsumexp",
                       .formula = {.forward = "y{y} = ln Σ exp x{0} over axes {axes}",
                                   .backward = {"dx{x} = dy{y} ⊙ exp(x − y), repeated along the summed axes"}},
                       .samples = reduction_samples([](auto& x, auto& axes, Dims d) { return logsumexp(x, axes, d); },
                                                    sample_normal)});

std::vector<OpSample> var_samples() {
  auto over = [](const Axes& axes, const VarOptions& options) {
    return [=](const Tensors& in) { return var(in[0], axes, options); };
  };
  return std::vector<OpSample>{{"all", {sample_normal({2, 3})}, over({}, {})},
                               {"biased", {sample_normal({2, 3, 2})}, over(1, {.correction = 0, .dims = Dims::keep})},
                               {"apart", {sample_normal({2, 3, 2})}, over({0, 2}, {})}};
}

const Op var_op({.name = "var",
                 .formula = {.forward = "y{y} = Σ (x{0} − m)² / (n − {correction}) over axes {axes}, m their mean",
                             .backward = {"dx{x} = dy{y} ⊙ 2 (x − m) / (n − {correction})"}},
                 .samples = var_samples});

Tensor extreme(const Op& op, const Tensor& x, const Axes& axes, Dims dims, bool largest) {
  if (const DType computed = computed_in(x.dtype()); computed != x.dtype())
    return cast(extreme(op, cast(x, computed), axes, dims, largest), x.dtype());
  const ReductionPlan plan(op.name(), x, axes);
  plan.check_not_empty(op.name(), x);
  Tensor y = empty(plan.shape(dims), x.dtype());
  if (x.dtype() == i64) {
    kernels::whole_numbers().best(plan.outer, plan.size, plan.inner, largest, plan.values.data<int64_t>(),
                                  y.mutable_data<int64_t>(), nullptr);
    return y;
  }
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
  if (const DType computed = computed_in(x.dtype()); computed != x.dtype())
    return arg_extreme(name, cast(x.detach(), computed), axis, dims, largest);
  const ReductionPlan plan(name, x, axis);
  plan.check_not_empty(name, x);
  Tensor index = empty(plan.shape(dims), i64);
  if (x.dtype() == i64) {
    Tensor best = empty(index.shape(), i64);
    kernels::whole_numbers().best(plan.outer, plan.size, plan.inner, largest, plan.values.data<int64_t>(),
                                  best.mutable_data<int64_t>(), index.mutable_data<int64_t>());
    return index;
  }
  dispatch_floating(name, x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor best = empty(index.shape(), x.dtype());
    const auto& kernel = kernels::reduce<T>();
    (largest ? kernel.max : kernel.min)(plan.outer, plan.size, plan.inner, plan.values.data<T>(),
                                        best.mutable_data<T>(), index.mutable_data<int64_t>());
  });
  return index;
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, Dims dims) {
  if (is_half(x.dtype())) return in_wide([&](const Tensor& wide) { return sum(wide, axes, dims); }, x);
  if (!is_floating(x.dtype()) && x.dtype() != i64) return sum(cast(x, i64), axes, dims);
  const ReductionPlan plan("sum", x, axes);
  Tensor y = empty(plan.shape(dims), x.dtype());
  if (x.dtype() == i64) {
    kernels::whole_numbers().sum(plan.outer, plan.size, plan.inner, plan.values.data<int64_t>(),
                                 y.mutable_data<int64_t>());
    return y;
  }
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
  if (is_half(x.dtype())) return in_wide([&](const Tensor& wide) { return mean(wide, axes, dims); }, x);
  const ReductionPlan plan("mean", x, axes);
  plan.check_not_empty("mean", x);
  check_floating("mean", x);
  return sum(x, axes, dims) * (1.0 / static_cast<double>(plan.size));
}

Tensor max(const Tensor& x, const Axes& axes, Dims dims) { return extreme(max_op, x, axes, dims, true); }
Tensor min(const Tensor& x, const Axes& axes, Dims dims) { return extreme(min_op, x, axes, dims, false); }

Tensor var(const Tensor& x, const Axes& axes, const VarOptions& options) {
  if (is_half(x.dtype())) return in_wide([&](const Tensor& wide) { return var(wide, axes, options); }, x);
  check_floating("var", x);
  const ReductionPlan plan("var", x, axes);
  plan.check_correction("var", x, options.correction);
  const double share = 1.0 / static_cast<double>(plan.size - options.correction);
  const Tensor values = x.detach(), centre = mean(values, axes, Dims::keep);
  Tensor squares = empty(plan.shape(options.dims), x.dtype());
  dispatch_floating("var", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::fold_axis<T>().sum_of_squares_around(plan.outer, plan.size, plan.inner, plan.values.data<T>(),
                                                  centre.data<T>(), squares.mutable_data<T>());
  });
  const Tensor y = affine(squares, share, 0);
  return record(var_op, {x}, y, {x, centre},
                [axes, share, kept = plan.kept](const BackwardContext& c) -> Tensors {
                  const Tensor v = c.saved(0), around = c.create_graph() ? mean(v, axes, Dims::keep) : c.saved(1);
                  return {(v - around) * affine(reshape(c.grad(), kept), 2 * share, 0)};
                },
                {{"axes", plan.axes}, {"correction", options.correction}, {"keepdim", options.dims == Dims::keep}});
}

Tensor logsumexp(const Tensor& x, const Axes& axes, Dims dims) {
  if (is_half(x.dtype())) return in_wide([&](const Tensor& wide) { return logsumexp(wide, axes, dims); }, x);
  check_floating("logsumexp", x);
  const ReductionPlan plan("logsumexp", x, axes);
  Tensor y;
  {
    const NoGrad no_grad;
    const Tensor largest = plan.size == 0 ? full(plan.kept, -INFINITY, x.dtype()) : max(x, axes, Dims::keep);
    // An infinite maximum would give inf - inf; without it the sum is 0 or infinite by itself.
    const Tensor shift = masked_fill(largest, eq(abs(largest), INFINITY), 0);
    y = reshape(log(sum(exp(x - shift), axes, Dims::keep)) + shift, plan.shape(dims));
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
  const ReductionPlan plan("any", x, axes);
  Tensor y = empty(plan.shape(dims), boolean);
  kernels::whole_numbers().any(plan.outer, plan.size, plan.inner, plan.values.data<bool>(), y.mutable_data<bool>());
  return y;
}

Tensor all(const Tensor& x, const Axes& axes, Dims dims) {
  if (x.dtype() != boolean) raise(ErrorKind::dtype, "all: needs bool, got {}", to_string(x.dtype()));
  return logical_not(any(logical_not(x), axes, dims));
}

}  // namespace tape
