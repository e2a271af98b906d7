#pragma once

#include "../../tensor.h"

namespace tape {

// Unique values and counts. Only the weights of bincount have gradients.

/// Options of bincount().
struct BincountOptions {
  Tensor weights = {};    ///< [n], f32 or f64: weight of each id; default: 1
  int64_t minlength = 0;  ///< minimum number of counts in the result
};
/// Number of occurrences of each id 0, 1, ... in ids [n] (i64), or the sum of their weights in the weights' dtype:
/// [largest id + 1]. Error (index) for a negative id, (shape) unless ids have exactly one axis and weights their shape.
Tensor bincount(const Tensor& ids, const BincountOptions& options = {});

/// Result of unique().
struct Unique {
  Tensor values;   ///< [n], ascending; NaNs come last and all count as different
  Tensor inverse;  ///< x's shape, i64: index of each element in values
  Tensor counts;   ///< [n], i64
};
/// Unique values of x; any dtype.
Unique unique(const Tensor& x);
/// Unique slices of x along an axis, in lexicographic order: values has x's shape with the number of unique slices on
/// that axis; inverse [size of the axis], counts [n]. A slice that contains NaN is never equal to another. Error
/// (index) for an axis that x does not have, (shape) `unique: the slices along axis 0 of [3, 0] are empty`.
Unique unique(const Tensor& x, int64_t axis);

}  // namespace tape
