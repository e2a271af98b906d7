#pragma once

#include "../../tensor.h"

namespace tape {

// Elements that a mask chooses, in row-major order; besides masked_fill and where (compare.h). The mask is bool (Error
// (dtype)).

/// Where x is not 0: [n, rank of x], i64, an index a row; of a tensor without axes [n, 0].
Tensor nonzero(const Tensor& x);
/// The elements of x where the mask is true: [n]. Both are broadcast. Any dtype.
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// A copy of x with the first elements of source, in order, in the places where the mask (broadcast to x) is true. One
/// dtype (Error (dtype)), any; Error (shape) for a source with fewer elements than places.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);

/// Where flags are set, as positions in row-major order: [n], i64.
Tensor flat_nonzero(const Tensor& flags);

}  // namespace tape
