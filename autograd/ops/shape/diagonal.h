#pragma once

#include "../../tensor.h"

namespace tape {

// Diagonals and windows: places of x that lie a fixed distance apart. Any dtype; Error (index) for an axis that x does
// not have, (config) for an axis named twice.

/// The diagonal of two axes, which becomes the last axis: elements [.., i, .., i + offset, ..]. Empty where the offset
/// leads outside.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);
/// Square matrices, 0 but for their diagonals, which are the last axis of x: x [.., n] -> [.., m, m], m = n + |offset|,
/// their axes where axis1 and axis2 say.
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t axis1 = -2, int64_t axis2 = -1);

/// Windows of `size` positions along an axis, each `step` behind the one before it: the axis counts windows, and their
/// positions are a new last axis. x [.., n, ..] -> [.., (n - size) / step + 1, .., size]. Error (config) for a size
/// outside 0 .. n and a step below 1.
Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step);

}  // namespace tape
