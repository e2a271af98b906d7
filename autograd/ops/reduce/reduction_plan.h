#pragma once

#include <vector>

#include "../../tensor.h"
#include "reduce.h"

namespace tape {

/// x seen as [outer, size, inner] with the reduced axes in the middle: moved there first where they are not neighbours.
struct ReductionPlan {
  /// Errors begin with the operation's name.
  ReductionPlan(const char* operation, const Tensor& x, const Axes& axes);

  /// The result's shape.
  const Shape& shape(Dims dims) const { return dims == Dims::keep ? kept : dropped; }
  /// Throws Error (shape) where x has values to give, but none to reduce.
  void check_not_empty(const char* operation, const Tensor& x) const;
  /// Throws Error (shape) where a variance with that correction would divide by nothing.
  void check_correction(const char* operation, const Tensor& x, int64_t correction) const;

  Tensor values;
  int64_t outer = 1, size = 1, inner = 1;
  std::vector<int64_t> axes;  // the reduced ones
  Shape kept;                 // every axis, reduced ones with size 1
  Shape dropped;              // without the reduced axes
  bool moved = false;         // whether `values` have their axes in another order than x
};

}  // namespace tape
