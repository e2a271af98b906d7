#pragma once

#include "../../tensor.h"

namespace tape {

// Selection with a mask, in row-major order; see also masked_fill and where (compare.h). The mask is bool (Error
// (dtype)).

/// Indices of the non-zero elements of x, one per row: [n, rank of x], i64; [n, 0] for a tensor without axes.
Tensor nonzero(const Tensor& x);
/// The elements of x where the mask is true: [n]. x and mask are broadcast. Any dtype.
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// A copy of x with the first elements of source, in order, where the mask (broadcast to x) is true. Any dtype, the
/// same for both (Error (dtype)). Error (shape) if source has fewer elements than the mask has true values.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);

/// Row-major positions of the flags that are set: [n], i64.
Tensor flat_nonzero(const Tensor& flags);

}  // namespace tape
