#pragma once

#include "../../tensor.h"

namespace tape {

// Diagonals and windows. Any dtype; Error (index) for an axis that x does not have, (config) for a repeated axis.

/// The diagonal of two axes, [.., i, .., i + offset, ..], as the last axis of the result. Empty if the offset is out of
/// range.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);
/// Square matrices with the last axis of x as diagonal, 0 elsewhere: x [.., n] -> [.., m, m], m = n + |offset|, with
/// the matrix axes at axis1 and axis2.
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t axis1 = -2, int64_t axis2 = -1);

/// Windows of `size` positions along an axis, `step` apart. The axis indexes windows; positions within a window are a
/// new last axis: x [.., n, ..] -> [.., (n - size) / step + 1, .., size]. Error (config) for a size outside 0 .. n and
/// a step below 1.
Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step);

}  // namespace tape
