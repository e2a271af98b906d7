#pragma once

#include <optional>

#include "../../tensor.h"

namespace tape {

// Writing at positions, into a copy of x; besides scatter_add and index_add (index.h), whose rules and errors for
// positions these share.

/// A copy of x with source[.., c, ..] in the place of [.., index[.., c, ..], ..]; index and source have one shape,
/// which is x's but for the axis. Of repeated positions the last one stays, and it alone gets a gradient. Any dtype.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, double value);

/// What becomes of values that come to one position.
enum class Reduce { sum, mean, prod, amax, amin };
struct ScatterReduceOptions {
  bool include_self = true;  ///< whether x's own value there counts
};
/// The same with what comes to a position, and x's own value, put together; equal ones share the gradient of amax and
/// amin evenly. f32 and f64 (Error (dtype) for others). Error (graph) for a second derivative of prod where a factor is
/// 0.
Tensor scatter_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source, Reduce reduce,
                      const ScatterReduceOptions& options = {});

/// A copy of x with source[.., c, ..] in the place of [.., index[c], ..]; index is [n], source has x's shape but n
/// there. Of repeated positions the last one stays, and it alone gets a gradient. Any dtype.
Tensor index_copy(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);

/// gather() with x and index broadcast against each other outside the axis; without one both are read as vectors.
/// Error (shape) for different ranks.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> axis = {});

}  // namespace tape
