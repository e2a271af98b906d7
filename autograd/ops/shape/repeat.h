#pragma once

#include <optional>

#include "../../tensor.h"

namespace tape {

// Repetition other than expand (shape.h) and repeat (join.h); any dtype, gradients for f32 and f64.

/// Repeats each position of an axis `count` times in a row; without an axis, each element of the flattened x. Error
/// (config) for a negative count.
Tensor repeat_interleave(const Tensor& x, int64_t count, std::optional<int64_t> axis = {});
/// Repeats position i counts[i] times: counts [size of the axis], i64 (Error (dtype), (shape)).
Tensor repeat_interleave(const Tensor& x, const Tensor& counts, std::optional<int64_t> axis = {});

/// Order of the first two axes of a grid: ij as the vectors are given, xy swapped.
enum class GridIndexing { ij, xy };
/// Expands vectors [n], [m], ... to tensors of one shape [n, m, ...] ([m, n, ...] with xy), each repeated along the
/// others' axes. Error (config) without vectors, (shape) for a vector with more than one axis, (dtype) for different
/// dtypes.
Tensors meshgrid(const Tensors& vectors, GridIndexing indexing = GridIndexing::ij);

}  // namespace tape
