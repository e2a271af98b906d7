#pragma once

#include "../../tensor.h"

namespace tape {

// Views share their tensor's storage: reshape, flatten, squeeze, unsqueeze, select and slice along the first axis. All
// other rearrangements copy, so every tensor is contiguous. Gradients flow through all of them; any dtype. Negative
// axes count from the end; Error (index) for an axis that x does not have.

Tensor clone(const Tensor& x);  ///< a copy of the values
Tensor alias(const Tensor& x);  ///< the same values under a node of its own

/// The same values in another shape; one size may be -1 and is worked out. Error (shape) `reshape: sizes differ: [2, 3,
/// 4] to [5, 5] (24 vs 25 elements)`, also where no size fits for -1.
Tensor reshape(const Tensor& x, const std::vector<int64_t>& sizes);
Tensor reshape(const Tensor& x, const Shape& shape);
inline Tensor reshape(const Tensor& x, std::initializer_list<int64_t> sizes) {
  return reshape(x, std::vector<int64_t>(sizes));
}
/// Merges axes first .. last (both included) into one; a single number becomes [1]. Error (config) where first lies
/// behind last.
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
/// Drops axes of size 1: those among the given ones, or all.
Tensor squeeze(const Tensor& x, const Axes& axes = {});
Tensor unsqueeze(const Tensor& x, int64_t axis);  ///< a new axis of size 1 before `axis`; -1 is behind the last

/// x repeated along axes of size 1 and new leading axes; -1 keeps a size. Error (shape) where x does not broadcast.
Tensor expand(const Tensor& x, const std::vector<int64_t>& sizes);
Tensor expand_to(const Tensor& x, const Shape& shape);
/// The inverse of expand for gradients: sums x over the axes that `shape` would be repeated along.
Tensor sum_to(const Tensor& x, const Shape& shape);
/// x, whose axis holds samples block by block, as [samples, ... of x with the axis so many times as short].
Tensor samples_first(const Tensor& x, int64_t axis, int64_t samples);

/// Axis i of the result is axis axes[i] of x: x [B, T, H, D] with {0, 2, 1, 3} -> [B, H, T, D]. Error (shape) unless
/// every axis is named, (config) for one named twice.
Tensor permute(const Tensor& x, const std::vector<int64_t>& axes);
Tensor transpose(const Tensor& x, int64_t a = -2, int64_t b = -1);  ///< swaps two axes
/// Axis source[i] becomes axis destination[i], the others stay in their order: x [B, T, C] with {-1}, {0} -> [C, B, T].
/// x itself where none moves. Error (shape) where the two are not as long as each other, (config) for an axis named
/// twice.
Tensor movedim(const Tensor& x, const std::vector<int64_t>& source, const std::vector<int64_t>& destination);
Tensor movedim(const Tensor& x, int64_t source, int64_t destination);

/// Position `index` of an axis, which disappears; negative counts from the end. Error (index) outside the axis.
Tensor select(const Tensor& x, int64_t axis, int64_t index);

/// Positions start, start + step, ... before end; negative start and end count from the end and are clipped as in
/// Python, so that a slice may be empty. Error (config) for a step below 1.
struct SliceOptions {
  int64_t start = 0;
  int64_t end = INT64_MAX;
  int64_t step = 1;
};
Tensor slice(const Tensor& x, int64_t axis, const SliceOptions& options);

}  // namespace tape
