#pragma once

#include "../index/order.h"
#include "reduce.h"

namespace tape {

// More reductions, over the same axes and for the same dtypes as reduce.h.

/// sqrt(var); gradient 0 where it is 0. Errors as in var(). After `using namespace tape`, write tape::std.
Tensor std(const Tensor& x, const Axes& axes = {}, const VarOptions& options = {});
/// Sum of the values that are not NaN.
Tensor nansum(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);

/// Median along an axis, the lower of two middle values, and the index of its first occurrence; NaN if there is one.
/// Error (shape) over an empty axis.
TopK median(const Tensor& x, int64_t axis, Dims dims = Dims::drop);
/// Median of all values [], the lower of two middle values; ties share the gradient equally.
Tensor median(const Tensor& x);

/// Result for a quantile between two values: interpolated linearly, the lower one, the higher one, their mean, or the
/// nearer one.
enum class Interpolation { linear, lower, higher, midpoint, nearest };
/// Options of quantile().
struct QuantileOptions {
  Interpolation interpolation = Interpolation::linear;  ///< between two values
  Dims dims = Dims::drop;                               ///< whether the axis is dropped or kept with size 1
};
/// Quantile q in [0, 1] of the values along an axis: the sorted value at position q (n - 1). NaN if there is one. Error
/// (config) for q outside [0, 1], (shape) over an empty axis.
Tensor quantile(const Tensor& x, double q, int64_t axis, const QuantileOptions& options = {});
/// Several quantiles, along a new first axis.
Tensor quantile(const Tensor& x, const std::vector<double>& q, int64_t axis, const QuantileOptions& options = {});
/// Quantile of all values.
Tensor quantile(const Tensor& x, double q);

/// (sum |x|^p)^(1/p) over axes: p = 2 is the length, 1 the sum of magnitudes, 0 the number of non-zero values, infinity
/// and -infinity the largest and smallest magnitude. Gradient 0 where the norm is 0. Error (shape) for an infinite p
/// over empty axes.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, Dims dims = Dims::drop);

}  // namespace tape
