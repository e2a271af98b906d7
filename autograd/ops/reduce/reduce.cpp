#include "autograd/ops/reduce/reduce.h"

#include <cmath>
#include <utility>

#include "autograd/create.h"
#include "autograd/kernels/elementwise/common/integer_ops.h"
#include "autograd/kernels/elementwise/elementwise.h"
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

namespace tape {
namespace {

const Op sum_op({.name = "sum",
                 .formula = {.forward = "y{y} = x{0} summed over axes {axes}",
                             .backward = {"dx{x} = dy{y} repeated along these axes"}}});

const Op max_op({.name = "max",
                 .formula = {.forward = "y{y} = the largest of x{0} over axes {axes}",
                             .backward = {"dx{x} = dy{y} where x is the largest, shared equally among ties, else "
                                          "0"}},
                 .traits = {.has_kinks = true}});

const Op min_op({.name = "min",
                 .formula = {.forward = "y{y} = the smallest of x{0} over axes {axes}",
                             .backward = {"dx{x} = dy{y} where x is the smallest, shared equally among ties, else 0"}},
                 .traits = {.has_kinks = true}});

/// If all values of a group are -inf, the gradient is 0.
const Op logsumexp_op({.name = "logsumexp",
                       .formula = {.forward = "y{y} = ln Σ exp x{0} over axes {axes}",
                                   .backward = {"dx{x} = dy{y} ⊙ exp(x − y), repeated along the summed axes"}}});

const Op var_op({.name = "var",
                 .formula = {.forward = "y{y} = Σ (x{0} − m)² / (n − {correction}) over axes {axes}, m their mean",
                             .backward = {"dx{x} = dy{y} ⊙ 2 (x − m) / (n − {correction})"}}});

struct Sum : ReducedAxes {
  static constexpr bool saves_inputs = false;

  void forward(const auto& c) const { fold(c, kernels::reduce(c).sum); }
  Tensors gradients(const BackwardContext& c) const { return {expand_to(reshape(c.grad(), plan.kept), plan.from)}; }
};

struct Extreme : ReducedAxes {
  bool largest;
  Tensor positions = {};  ///< i64, receives the index of each first extreme
  static constexpr bool saves_outputs = true;

  Results<1, 1> results(Inputs in) const { return {ReducedAxes::results(in).outputs, {positions}}; }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    const auto& table = kernels::reduce(c);
    const Tensor x = plan.ordered(c.input(0));
    (largest ? table.max : table.min)(plan.outer, plan.size, plan.inner, c.at().template in<T>(x), c.out(),
                                      c.template kept_as<int64_t>(0));
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor value = c.saved(0).detach();
    const Tensor best = cast(eq(value, reshape(c.saved(1).detach(), plan.kept)), value.dtype());
    return {reshape(c.grad(), plan.kept) * (best / sum(best, plan.axes, Dims::keep))};
  }
};

/// Maxima or minima over axes, and in `positions`, if defined, the index of each first occurrence.
Tensor extreme(const Op& op, const ReductionPlan& plan, const Tensor& x, Dims dims, bool largest,
               Tensor positions = {}) {
  if (is_floating(x.dtype())) return reduced(op, x, Extreme{{plan, dims}, largest, positions});
  const auto kernel = [&](const KernelCall& at, auto outer, auto size, auto inner, const int64_t* from, int64_t* to) {
    kernels::integer_ops(at).best(outer, size, inner, largest, from, to, at.out<int64_t>(positions));
  };
  return cast(reduced_values<int64_t>(op.name(), plan, cast(x, i64), dims, kernel), x.dtype());
}

ReductionPlan nonempty_plan(const char* operation, const Tensor& x, const Axes& axes) {
  ReductionPlan plan(operation, x.shape(), axes);
  plan.check_not_empty(operation);
  return plan;
}

Tensor arg_extreme(const char* name, const Op& op, const Tensor& x, int64_t axis, Dims dims, bool largest) {
  const ReductionPlan plan = nonempty_plan(name, x, axis);
  const Tensor positions = empty(plan.shape(dims), {i64, x.device()});
  extreme(op, plan, x.detach(), dims, largest, positions);
  return positions;
}

struct Var : ReducedAxes {
  int64_t correction;

  /// Kept: the mean.
  Results<1, 1> results(Inputs in) const {
    return {ReducedAxes::results(in).outputs, {mean(in[0].detach(), plan.axes, Dims::keep)}};
  }
  void forward(const auto& c) const {
    fold(c, kernels::fold_axis(c).sum_of_squared_deviations, c.kept(0));
    kernels::elementwise(c).affine(c.numel(), c.out(), share(), 0, c.out());
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor x = c.saved(0), centre = c.create_graph() ? mean(x, plan.axes, Dims::keep) : c.saved(1);
    return {(x - centre) * affine(reshape(c.grad(), plan.kept), 2 * share(), 0)};
  }
  double share() const { return 1.0 / static_cast<double>(plan.size - correction); }
};

struct LogSumExp : ReducedAxes {
  static constexpr bool saves_outputs = true, results_have_values = true;

  Results<1> results(Inputs in) const {
    const Tensor x = in[0].detach();
    const Tensor largest = plan.size == 0 ? full(plan.kept, -INFINITY, x.options()) : max(x, plan.axes, Dims::keep);
    // Subtracting an infinite maximum would give NaN; without it the sum is 0 or infinite, as it should be.
    const Tensor shift = masked_fill(largest, eq(abs(largest), INFINITY), 0);
    return {{reshape(log(sum(exp(x - shift), plan.axes, Dims::keep)) + shift, plan.shape(dims))}};
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor total = reshape(c.saved(1), plan.kept);
    const Tensor finite = masked_fill(total, eq(total.detach(), -INFINITY), 0);
    return {reshape(c.grad(), plan.kept) * exp(c.saved(0) - finite)};
  }
};

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, Dims dims) {
  ReductionPlan plan("sum", x.shape(), axes);
  if (is_floating(x.dtype())) return reduced(sum_op, x, Sum{{std::move(plan), dims}});
  return reduced_values<int64_t>("sum", plan, cast(x, i64), dims, [](const KernelCall& at, auto... arguments) {
    kernels::integer_ops(at).sum(arguments...);
  });
}

Tensor mean(const Tensor& x, const Axes& axes, Dims dims) {
  if (is_half(x.dtype())) return in_compute_dtype([&](const Tensor& wide) { return mean(wide, axes, dims); }, x);
  const ReductionPlan plan = nonempty_plan("mean", x, axes);
  check_floating("mean", x);
  return sum(x, axes, dims) / plan.size;
}

Tensor max(const Tensor& x, const Axes& axes, Dims dims) {
  return extreme(max_op, nonempty_plan("max", x, axes), x, dims, true);
}
Tensor min(const Tensor& x, const Axes& axes, Dims dims) {
  return extreme(min_op, nonempty_plan("min", x, axes), x, dims, false);
}

Tensor var(const Tensor& x, const Axes& axes, const VarOptions& options) {
  check_floating("var", x);
  const ReductionPlan plan("var", x.shape(), axes);
  plan.check_correction("var", options.correction);
  return fused(var_op, {x}, Var{{plan, options.dims}, options.correction},
               {{"axes", plan.axes}, {"correction", options.correction}, {"keepdim", options.dims == Dims::keep}});
}

Tensor logsumexp(const Tensor& x, const Axes& axes, Dims dims) {
  check_floating("logsumexp", x);
  return reduced(logsumexp_op, x, LogSumExp{{ReductionPlan("logsumexp", x.shape(), axes), dims}});
}

Tensor argmax(const Tensor& x, int64_t axis, Dims dims) { return arg_extreme("argmax", max_op, x, axis, dims, true); }
Tensor argmin(const Tensor& x, int64_t axis, Dims dims) { return arg_extreme("argmin", min_op, x, axis, dims, false); }

Tensor any(const Tensor& x, const Axes& axes, Dims dims) {
  if (x.dtype() != boolean) raise(ErrorKind::dtype, "any: needs bool, got {}", to_string(x.dtype()));
  return reduced_values<bool>(
      "any", ReductionPlan("any", x.shape(), axes), x, dims,
      [](const KernelCall& at, auto... arguments) { kernels::integer_ops(at).any(arguments...); });
}

Tensor all(const Tensor& x, const Axes& axes, Dims dims) {
  if (x.dtype() != boolean) raise(ErrorKind::dtype, "all: needs bool, got {}", to_string(x.dtype()));
  return logical_not(any(logical_not(x), axes, dims));
}

}  // namespace tape
