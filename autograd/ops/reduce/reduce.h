#pragma once

#include "../../tensor.h"

namespace tape {

// Reductions over any axes, by default all; negative axes count from the end. The result has x's shape without these
// axes, or with size 1 there. Any floating dtype (Error (dtype) for others); f16 and bf16 are computed in f32. Error
// (index) for an axis that x does not have, (config) for a repeated axis. The order of summation suits the CPU: near
// the largest representable value, sums may overflow where another order would not.

/// Sum; i64 and bool give i64. The empty sum is 0.
Tensor sum(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
/// sum / n. Error (shape) if n is 0.
Tensor mean(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
/// Largest and smallest value; also i64. Ties share the gradient equally. NaN wins. Error (shape) over empty axes.
/// @{
Tensor max(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
Tensor min(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
/// @}

/// Options of var() and std().
struct VarOptions {
  int64_t correction = 1;  ///< divide by n - correction: 1 unbiased, 0 biased (as LayerNorm does)
  Dims dims = Dims::drop;  ///< whether reduced axes are dropped or kept with size 1
};
/// sum((x - mean)^2) / (n - correction). Error (shape) unless n > correction.
Tensor var(const Tensor& x, const Axes& axes = {}, const VarOptions& options = {});
/// log(sum(exp(x))) without overflow; -inf, with gradient 0 (PyTorch: NaN), if all values are -inf or there are none.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);

/// Index (i64) of the first largest or smallest value along an axis; any dtype, no gradient. Error (shape) over an
/// empty axis.
/// @{
Tensor argmax(const Tensor& x, int64_t axis, Dims dims = Dims::drop);
Tensor argmin(const Tensor& x, int64_t axis, Dims dims = Dims::drop);
/// @}
/// Whether any or all values of a bool tensor are true. Error (dtype) for others.
/// @{
Tensor any(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
Tensor all(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
/// @}

}  // namespace tape
