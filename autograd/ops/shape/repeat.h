#pragma once

#include <optional>

#include "../../tensor.h"

namespace tape {

// Repeated values besides expand (shape.h) and repeat (join.h); any dtype, gradients for f32 and f64.

/// Each position of an axis `count` times, one behind the other; without an axis those of the flattened x. Error
/// (config) for a negative count.
Tensor repeat_interleave(const Tensor& x, int64_t count, std::optional<int64_t> axis = {});
/// Position i counts[i] times: counts [size of the axis], i64 (Error (dtype), (shape)).
Tensor repeat_interleave(const Tensor& x, const Tensor& counts, std::optional<int64_t> axis = {});

/// What the first two axes of a grid count: ij the first two tensors, xy these the other way round.
enum class GridIndexing { ij, xy };
/// Vectors [n], [m], ... as tensors of one shape [n, m, ...] ([m, n, ...] with xy), each repeated along the others'
/// axes. Error (config) for no vector, (shape) for more than one axis in one; one dtype (Error (dtype)).
Tensors meshgrid(const Tensors& vectors, GridIndexing indexing = GridIndexing::ij);

}  // namespace tape
