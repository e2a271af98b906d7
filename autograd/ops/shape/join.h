#pragma once

#include "../../tensor.h"

namespace tape {

// Joining, splitting and overwriting tensors; any dtype, gradients for floating ones.

/// Concatenates tensors along an existing axis; all other axes must agree: [2, 3] and [5, 3] -> [7, 3]. The result has
/// their promoted dtype (promote_types). Error (shape) `cat: sizes differ outside axis 1: [2, 3] and [3, 3]`, (config)
/// if there are no tensors.
Tensor cat(const Tensors& tensors, int64_t axis = 0);
/// Stacks tensors of one shape along a new axis of the result: n times [3, 4] -> [n, 3, 4] for axis 0. Errors as in
/// cat().
Tensor stack(const Tensors& tensors, int64_t axis = 0);

/// Pieces of `size` along an axis; the last one may be smaller. Error (config) for size < 1.
Tensors split(const Tensor& x, int64_t size, int64_t axis = 0);
/// Pieces of the given sizes. Pieces along the first axis are views. Error (shape) `split: sizes [1, 1, 2] do not add
/// up to axis 1 of [2, 3, 4] (4 vs 3)`.
Tensors split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis = 0);
/// `count` pieces of size ceil(n / count); the last may be smaller, and as in PyTorch there may be fewer, unless n is
/// 0. Error (config) unless count > 0.
Tensors chunk(const Tensor& x, int64_t count, int64_t axis = 0);

/// x tiled counts[i] times along axis i; the shorter of counts and shape is padded with leading ones (numpy.tile).
Tensor repeat(const Tensor& x, const std::vector<int64_t>& counts);

/// A copy of x with `part` written to positions start, start + 1, ... of an axis, recorded. Errors as in put_slice_().
Tensor put_slice(const Tensor& x, int64_t axis, int64_t start, const Tensor& part);
/// Writes `part` to positions start, start + 1, ... of an axis of x in place, without recording: while gradients are
/// enabled, neither may require them.
void put_slice_(Tensor& x, int64_t axis, int64_t start, const Tensor& part);

/// Moves x by `shift` positions along an axis; elements moved past the end reappear at the start.
Tensor roll(const Tensor& x, int64_t shift, int64_t axis);
/// Rolls along several axes, one shift per axis (Error (config) if their numbers differ).
Tensor roll(const Tensor& x, const std::vector<int64_t>& shifts, const std::vector<int64_t>& axes);

/// The slices at each position of an axis, without that axis; views along the first axis.
Tensors unbind(const Tensor& x, int64_t axis = 0);

}  // namespace tape
