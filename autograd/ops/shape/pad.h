#pragma once

#include "../../tensor.h"

namespace tape {

// Padding, flips and triangles; any dtype, gradients for floating ones.

/// Numbers of values that pad() adds at both ends of an axis.
struct Padding {
  int64_t before = 0;  ///< before the first value; not negative
  int64_t after = 0;   ///< after the last value; not negative
};
/// x padded with `value`; amounts are for the last axes, in the order of the axes. Must not be negative: use slice().
Tensor pad(const Tensor& x, const std::vector<Padding>& amounts, double value = 0);

/// x reversed along the given axes, by default all.
Tensor flip(const Tensor& x, const Axes& axes = {});
/// x [..., rows, cols] where col - row <= diagonal, zero elsewhere.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
/// x [..., rows, cols] where col - row >= diagonal, zero elsewhere.
Tensor triu(const Tensor& x, int64_t diagonal = 0);

}  // namespace tape
