#pragma once

#include <vector>

#include "../../create.h"
#include "../fused.h"
#include "reduce.h"

namespace tape {

/// x seen as [outer, size, inner] with the reduced axes in the middle: moved to the end first where they are not
/// neighbours.
struct ReductionPlan {
  /// Errors begin with the operation's name.
  ReductionPlan(const char* operation, const Shape& from, const Axes& axes);

  /// The result's shape.
  const Shape& shape(Dims dims) const { return dims == Dims::keep ? kept : dropped; }
  /// Throws Error (shape) where x has values to give, but none to reduce.
  void check_not_empty(const char* operation) const;
  /// Throws Error (shape) where a variance with that correction would divide by nothing.
  void check_correction(const char* operation, int64_t correction) const;

  /// x with its axes in the plan's order; not recorded.
  Tensor ordered(const Tensor& x) const;

  Shape from;  // x's
  int64_t outer = 1, size = 1, inner = 1;
  std::vector<int64_t> axes;   // the reduced ones
  std::vector<int64_t> order;  // of the axes where they are moved, else empty
  Shape kept;                  // every axis, reduced ones with size 1
  Shape dropped;               // without the reduced axes
};

/// Base of a reduction's struct for fused(); reduced() runs it.
struct ReducedAxes {
  ReductionPlan plan;
  Dims dims;

  Results<1> results(Inputs in) const { return {{empty(plan.shape(dims), in[0].dtype())}}; }
  /// kernel(outer, size, inner, x, arguments..., y)
  template <class T, class Kernel, class... Arguments>
  void fold(const ForwardCall<T>& c, Kernel kernel, Arguments... arguments) const {
    kernel(plan.outer, plan.size, plan.inner, plan.ordered(c.input(0)).template data<T>(), arguments..., c.out());
  }
};

template <class Operation>
Tensor reduced(const Op& op, const Tensor& x, const Operation& operation) {
  return fused(op, {x}, operation, {{"axes", operation.plan.axes}, {"keepdim", operation.dims == Dims::keep}});
}

/// A reduction of whole numbers or truths, by kernel(outer, size, inner, x, y).
template <class T, class Kernel>
Tensor reduced_values(const ReductionPlan& plan, const Tensor& x, Dims dims, Kernel kernel) {
  Tensor y = empty(plan.shape(dims), x.dtype());
  kernel(plan.outer, plan.size, plan.inner, plan.ordered(x).template data<T>(), y.template mutable_data<T>());
  return y;
}

}  // namespace tape
