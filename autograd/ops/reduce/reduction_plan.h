#pragma once

#include <vector>

#include "../../create.h"
#include "../fused.h"
#include "reduce.h"

namespace tape {

/// View of x as [outer, size, inner] with the reduced axes in the middle. If they are not adjacent, they are moved to
/// the end first.
struct ReductionPlan {
  /// Error messages start with the operation's name.
  ReductionPlan(const char* operation, const Shape& from, const Axes& axes);

  /// The result's shape.
  const Shape& shape(Dims dims) const { return dims == Dims::keep ? kept : dropped; }
  /// Throws Error (shape) if the result has elements but the reduced axes are empty.
  void check_not_empty(const char* operation) const;
  /// Throws Error (shape) if a variance with this correction would divide by 0 or less.
  void check_correction(const char* operation, int64_t correction) const;

  /// x with its axes in the plan's order; not recorded.
  Tensor ordered(const Tensor& x) const;

  Shape from;  // shape of x
  int64_t outer = 1, size = 1, inner = 1;
  std::vector<int64_t> axes;   // reduced axes
  std::vector<int64_t> order;  // permutation of the axes, empty if they are not moved
  Shape kept;                  // all axes, reduced ones with size 1
  Shape dropped;               // without the reduced axes
};

/// Base of reductions for fused(); run with reduced().
struct ReducedAxes {
  ReductionPlan plan;
  Dims dims;

  Results<1> results(Inputs in) const { return {{empty(plan.shape(dims), in[0].options())}}; }
  /// kernel(outer, size, inner, x, arguments..., y)
  template <class T, class Kernel, class... Arguments>
  void fold(const ForwardCall<T>& c, Kernel kernel, Arguments... arguments) const {
    kernel(plan.outer, plan.size, plan.inner, c.at().template in<T>(plan.ordered(c.input(0))), arguments..., c.out());
  }
};

template <class Operation>
Tensor reduced(const Op& op, const Tensor& x, const Operation& operation) {
  return fused(op, {x}, operation, {{"axes", operation.plan.axes}, {"keepdim", operation.dims == Dims::keep}});
}

/// Reduction of integers or bool with kernel(call, outer, size, inner, x, y).
template <class T, class Kernel>
Tensor reduced_values(const char* operation, const ReductionPlan& plan, const Tensor& x, Dims dims,
                      const Kernel& kernel) {
  Tensor y = empty(plan.shape(dims), x.options());
  const Tensor ordered = plan.ordered(x);
  run_kernels(operation, x.device(), [&](const KernelCall& at) {
    kernel(at, plan.outer, plan.size, plan.inner, at.in<T>(ordered), at.out<T>(y));
  });
  return y;
}

}  // namespace tape
