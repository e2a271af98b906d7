#pragma once

#include "../tensor.h"

namespace tape {

// Putting tensors together and taking them apart; any dtype, gradients for f32 and f64.

/// Tensors behind each other along an existing axis; they agree in dtype and in every other axis.
/// Error (shape) `cat: sizes differ outside axis 1: [2, 3] and [3, 3]`.
Tensor cat(const Tensors& tensors, int64_t axis = 0);
/// Tensors of one shape behind each other along a new axis, counted in the result.
Tensor stack(const Tensors& tensors, int64_t axis = 0);

/// Pieces of `size` along an axis, the last one smaller where it does not divide evenly.
Tensors split(const Tensor& x, int64_t size, int64_t axis = 0);
/// Pieces of the given sizes, which add up to the axis. Pieces along the first axis are views.
Tensors split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis = 0);
/// `count` pieces of size ceil(n / count), the last one smaller, fewer where that fills the axis sooner (as PyTorch).
Tensors chunk(const Tensor& x, int64_t count, int64_t axis = 0);

/// x tiled counts[i] times along axis i; the shorter of counts and shape is filled with ones from the left
/// (numpy.tile).
Tensor repeat(const Tensor& x, const std::vector<int64_t>& counts);

/// Writes `part` over positions start, start + 1, ... of an axis of x, in place. Nothing is recorded: neither may
/// require gradients while they are.
void put_slice_(Tensor& x, int64_t axis, int64_t start, const Tensor& part);

/// x moved by `shift` places to the right along an axis; what falls out comes in at the other end.
Tensor roll(const Tensor& x, int64_t shift, int64_t axis);

}  // namespace tape
