#pragma once

#include "../../tensor.h"

namespace tape {

// Putting tensors together and taking them apart; any dtype, gradients for the floating ones.

/// Tensors behind each other along an existing axis; they agree in every other axis: [2, 3] and [5, 3] -> [7, 3]. The
/// dtype is what all of theirs are promoted to (promote_types). Error (shape) `cat: sizes differ outside axis 1: [2, 3]
/// and [3, 3]`, (config) for no tensor at all.
Tensor cat(const Tensors& tensors, int64_t axis = 0);
/// Tensors of one shape behind each other along a new axis, counted in the result: n times [3, 4] -> [n, 3, 4] for axis
/// 0. Errors as cat().
Tensor stack(const Tensors& tensors, int64_t axis = 0);

/// Pieces of `size` along an axis, the last one smaller where it does not divide evenly. Error (config) for size < 1.
Tensors split(const Tensor& x, int64_t size, int64_t axis = 0);
/// Pieces of the given sizes. Pieces along the first axis are views. Error (shape) `split: sizes [1, 1, 2] do not add
/// up to axis 1 of [2, 3, 4] (4 vs 3)`.
Tensors split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis = 0);
/// `count` pieces of size ceil(n / count), the last one smaller, fewer where that fills the axis sooner (as PyTorch).
/// Error (config) unless count > 0.
Tensors chunk(const Tensor& x, int64_t count, int64_t axis = 0);

/// x tiled counts[i] times along axis i; the shorter of counts and shape is filled with ones in front (numpy.tile).
Tensor repeat(const Tensor& x, const std::vector<int64_t>& counts);

/// A copy of x with `part` over positions start, start + 1, ... of an axis, recorded. Errors as put_slice_().
Tensor put_slice(const Tensor& x, int64_t axis, int64_t start, const Tensor& part);
/// Writes `part` over positions start, start + 1, ... of an axis of x, in place. Nothing is recorded: neither may
/// require gradients while they are.
void put_slice_(Tensor& x, int64_t axis, int64_t start, const Tensor& part);

/// x moved by `shift` places to the right along an axis; what falls out comes in at the other end.
Tensor roll(const Tensor& x, int64_t shift, int64_t axis);
/// The same along several axes, a shift each (Error (config) for other numbers of them).
Tensor roll(const Tensor& x, const std::vector<int64_t>& shifts, const std::vector<int64_t>& axes);

/// The positions of an axis, which disappears, each as a tensor; views along the first axis.
Tensors unbind(const Tensor& x, int64_t axis = 0);

}  // namespace tape
