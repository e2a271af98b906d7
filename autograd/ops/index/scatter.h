#pragma once

#include <optional>

#include "../../tensor.h"

namespace tape {

// Writing at positions into a copy of x; see also scatter_add and index_add (index.h), whose rules and errors for
// positions also hold here.

/// A copy of x with source[.., c, ..] written to [.., index[.., c, ..], ..]. index and source have the same shape,
/// which is x's except on the axis. For repeated positions the last value wins and only it gets a gradient. Any dtype.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// The same with one value for all positions.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, double value);

/// How values for the same position are combined.
enum class Reduce { sum, mean, prod, amax, amin };
/// Options of scatter_reduce().
struct ScatterReduceOptions {
  bool include_self = true;  ///< whether to include x's own value
};
/// Like scatter, but combines x's value and all values for a position. For amax and amin, ties share the gradient
/// equally. f32 and f64 (Error (dtype) for others). Error (graph) for a second derivative of prod with a zero factor.
Tensor scatter_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source, Reduce reduce,
                      const ScatterReduceOptions& options = {});

/// A copy of x with source[.., c, ..] written to [.., index[c], ..]. index is [n], source has x's shape with n on the
/// axis. For repeated positions the last value wins and only it gets a gradient. Any dtype.
Tensor index_copy(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);

/// gather() with x and index broadcast against each other except on the axis; without an axis, both are flattened.
/// Error (shape) for different ranks.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> axis = {});

}  // namespace tape
