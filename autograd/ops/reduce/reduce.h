#pragma once

#include "../../tensor.h"

namespace tape {

// Reductions over any axes, all of them where none is given; negative axes count from the end. The result has x's shape
// without these axes, or with size 1 there. Any floating dtype (Error (dtype) for others), f16 and bf16 computed in
// f32; Error (index) for an axis that x does not have, (config) for one named twice. Sums are made in an order that
// suits the CPU: near the largest number they may overflow where another order would not.

/// Sum; of i64 and bool too, as i64. The sum over nothing is 0.
Tensor sum(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
/// sum / n. Error (shape) where n is 0.
Tensor mean(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
/// Largest and smallest, of i64 too; equal ones share the gradient evenly. NaN wins. Error (shape) over nothing.
Tensor max(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
Tensor min(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);

struct VarOptions {
  int64_t correction = 1;  ///< divides by n - correction: 1 unbiased, 0 biased (as LayerNorm does)
  Dims dims = Dims::drop;
};
/// sum((x - mean)^2) / (n - correction). Error (shape) unless n > correction.
Tensor var(const Tensor& x, const Axes& axes = {}, const VarOptions& options = {});
/// log(sum(exp(x))), without overflow; -inf, with gradients 0 (PyTorch: NaN), where all of x is, and over nothing.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);

/// Index (i64) of the first largest or smallest along an axis; any dtype, no gradient. Error (shape) over nothing.
Tensor argmax(const Tensor& x, int64_t axis, Dims dims = Dims::drop);
Tensor argmin(const Tensor& x, int64_t axis, Dims dims = Dims::drop);
/// Whether any or every value of a bool tensor is true. Error (dtype) for others.
Tensor any(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);
Tensor all(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);

}  // namespace tape
