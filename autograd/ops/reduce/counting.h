#pragma once

#include "../../tensor.h"

namespace tape {

// Which values there are, and how often; no gradients but for the weights of bincount.

struct BincountOptions {
  Tensor weights = {};    ///< [n], f32 or f64: what each id counts; undefined is 1
  int64_t minlength = 0;  ///< the result has at least as many counts
};
/// How often each id 0, 1, ... stands in ids [n] (i64), or the sum of its weights, of their dtype: [largest id + 1].
/// Error (index) for a negative id, (shape) for ids without exactly one axis and weights of another shape.
Tensor bincount(const Tensor& ids, const BincountOptions& options = {});

struct Unique {
  Tensor values;   ///< [n], rising; each NaN is one of its own, and they come last
  Tensor inverse;  ///< of x's shape, i64: where each of its elements stands in values
  Tensor counts;   ///< [n], i64
};
/// The different values of x, of any dtype.
Unique unique(const Tensor& x);
/// The different slices of x along an axis: values has x's shape with that axis as long as there are different ones, in
/// the order of their first values, then of their second ones, ...; inverse [size of the axis], counts [n]. One that
/// holds a NaN is one of its own. Error (index) for an axis that x does not have, (shape) `unique: there is nothing to
/// tell the slices along axis 0 of [3, 0] apart by`.
Unique unique(const Tensor& x, int64_t axis);

}  // namespace tape
