#pragma once

#include "../index/order.h"
#include "reduce.h"

namespace tape {

// Reductions besides those of reduce.h, over the same axes and for the same dtypes.

/// sqrt(var); gradient 0 where it is 0. Errors as var(). Behind `using namespace tape` it is called tape::std.
Tensor std(const Tensor& x, const Axes& axes = {}, const VarOptions& options = {});
/// The sum of what is not NaN.
Tensor nansum(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);

/// The middle value along an axis, the lower one of an even number, and where it stands first; NaN where there is one.
/// Error (shape) over nothing.
TopK median(const Tensor& x, int64_t axis, Dims dims = Dims::drop);
/// The middle of all values [], of an even number the lower one; equal ones share the gradient evenly.
Tensor median(const Tensor& x);

/// What is given where a quantile lies between two values: a mixture of both by its place, the one below, the one
/// above, their mean, or the one that is nearer.
enum class Interpolation { linear, lower, higher, midpoint, nearest };
struct QuantileOptions {
  Interpolation interpolation = Interpolation::linear;
  Dims dims = Dims::drop;
};
/// The value below which the share q in [0, 1] of the values along an axis lies: the one at place q (n - 1) in order.
/// NaN where there is one. Error (config) for q outside [0, 1], (shape) over nothing.
Tensor quantile(const Tensor& x, double q, int64_t axis, const QuantileOptions& options = {});
/// The same for several shares, along a new first axis.
Tensor quantile(const Tensor& x, const std::vector<double>& q, int64_t axis, const QuantileOptions& options = {});
/// Of all values.
Tensor quantile(const Tensor& x, double q);

/// (sum |x|^p)^(1/p) over axes: p = 2 is the length, 1 the sum of sizes, 0 how many are not 0, infinity and -infinity
/// the largest and the least size. Gradient 0 where the norm is 0. Error (shape) for an infinite p over nothing.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, Dims dims = Dims::drop);

}  // namespace tape
