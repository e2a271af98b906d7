#pragma once

#include "../tensor.h"

namespace tape {

// Views share their tensor's storage: reshape, flatten, squeeze, unsqueeze, select and slice along the first axis. All
// other rearrangements copy, so every tensor is contiguous. Gradients flow through all of them; any dtype.

Tensor clone(const Tensor& x);  ///< a copy of the values
Tensor alias(const Tensor& x);  ///< the same values under a node of its own

/// The same values in another shape; one size may be -1 and is worked out.
Tensor reshape(const Tensor& x, const std::vector<int64_t>& sizes);
Tensor reshape(const Tensor& x, const Shape& shape);
inline Tensor reshape(const Tensor& x, std::initializer_list<int64_t> sizes) {
  return reshape(x, std::vector<int64_t>(sizes));
}
/// Merges axes first .. last (both included) into one.
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
Tensor squeeze(const Tensor& x, const Axes& axes = {});  ///< drops axes of size 1: the given ones, or all
Tensor unsqueeze(const Tensor& x, int64_t axis);         ///< a new axis of size 1 before `axis`; -1 is behind the last

/// x repeated along axes of size 1 and new leading axes; -1 keeps a size.
Tensor expand(const Tensor& x, const std::vector<int64_t>& sizes);
Tensor expand_to(const Tensor& x, const Shape& shape);
/// The inverse of expand for gradients: sums x over the axes that `shape` would be repeated along.
Tensor sum_to(const Tensor& x, const Shape& shape);

/// Axis i of the result is axis axes[i] of x.
Tensor permute(const Tensor& x, const std::vector<int64_t>& axes);
Tensor transpose(const Tensor& x, int64_t a = -2, int64_t b = -1);  ///< swaps two axes

/// Position `index` of an axis, which disappears; negative counts from the end.
Tensor select(const Tensor& x, int64_t axis, int64_t index);

/// Positions start, start + step, ... before end; negative start and end count from the end and are clipped as in
/// Python.
struct SliceOptions {
  int64_t start = 0;
  int64_t end = INT64_MAX;
  int64_t step = 1;
};
Tensor slice(const Tensor& x, int64_t axis, const SliceOptions& options);

}  // namespace tape
