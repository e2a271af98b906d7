#pragma once

#include "../../tensor.h"

namespace tape {

// Shapes and rearrangements; any dtype. reshape, flatten, squeeze, unsqueeze, and select and slice along the first axis
// return views that share storage. All others copy, so every tensor is contiguous. Gradients flow through all of them.
// Negative axes count from the end; Error (index) for an axis that x does not have.

Tensor clone(const Tensor& x);  ///< a copy of the values
Tensor alias(const Tensor& x);  ///< the same values under a separate node

/// The same values in another shape; one size may be -1 and is inferred. Error (shape) `reshape: sizes differ: [2, 3,
/// 4] to [5, 5] (24 vs 25 elements)`, also if no size fits for -1.
/// @{
Tensor reshape(const Tensor& x, const std::vector<int64_t>& sizes);
Tensor reshape(const Tensor& x, const Shape& shape);
inline Tensor reshape(const Tensor& x, std::initializer_list<int64_t> sizes) {
  return reshape(x, std::vector<int64_t>(sizes));
}
/// @}
/// Merges axes first .. last (inclusive) into one; a scalar becomes [1]. Error (config) if first is after last.
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
/// Drops axes of size 1: those among the given axes, or all.
Tensor squeeze(const Tensor& x, const Axes& axes = {});
Tensor unsqueeze(const Tensor& x, int64_t axis);  ///< inserts an axis of size 1 before `axis`; -1: after the last

/// x repeated along axes of size 1 and new leading axes; -1 keeps a size. Error (shape) if x does not broadcast.
Tensor expand(const Tensor& x, const std::vector<int64_t>& sizes);
/// expand() to exactly this shape.
Tensor expand_to(const Tensor& x, const Shape& shape);
/// Gradient of expand: sums x over the axes along which `shape` would be repeated.
Tensor sum_to(const Tensor& x, const Shape& shape);
/// Splits an axis that consists of equal blocks, one per sample, and moves the samples to a new first axis.
Tensor samples_first(const Tensor& x, int64_t axis, int64_t samples);

/// Axis i of the result is axis axes[i] of x: x [B, T, H, D] with {0, 2, 1, 3} -> [B, H, T, D]. Error (shape) for
/// another number of axes, (config) for a repeated axis.
Tensor permute(const Tensor& x, const std::vector<int64_t>& axes);
Tensor transpose(const Tensor& x, int64_t a = -2, int64_t b = -1);  ///< swaps two axes
/// Moves axis source[i] to destination[i]; the others keep their order: x [B, T, C] with {-1}, {0} -> [C, B, T].
/// Returns x if nothing moves. Error (shape) if the lists differ in length, (config) for a repeated axis.
Tensor movedim(const Tensor& x, const std::vector<int64_t>& source, const std::vector<int64_t>& destination);
/// The same for one axis.
Tensor movedim(const Tensor& x, int64_t source, int64_t destination);

/// Position `index` of an axis, which is dropped; negative counts from the end. Error (index) if out of range.
Tensor select(const Tensor& x, int64_t axis, int64_t index);

/// The positions start, start + step, ... before end. Negative start and end count from the end and are clipped as in
/// Python.
struct SliceOptions {
  int64_t start = 0;        ///< first position
  int64_t end = INT64_MAX;  ///< position after the last; default: all
  int64_t step = 1;         ///< distance between positions; at least 1
};
/// The given positions of an axis, whose size becomes their number, which may be 0. Error (config) for a step below 1.
Tensor slice(const Tensor& x, int64_t axis, const SliceOptions& options);

}  // namespace tape
