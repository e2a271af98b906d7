#pragma once

#include "../../tensor.h"

namespace tape {

// Borders, mirrors and triangles; any dtype, gradients for floating ones.

/// The values at both ends of an axis that pad() adds.
struct Padding {
  int64_t before = 0;
  int64_t after = 0;
};
/// x surrounded by `value`; amounts are those of the last axes, in the order of the axes. Not negative: use slice().
Tensor pad(const Tensor& x, const std::vector<Padding>& amounts, double value = 0);

/// x in reverse order along the axes, all of them where none is given.
Tensor flip(const Tensor& x, const Axes& axes = {});
/// x [..., rows, cols] where col - row <= diagonal, zero elsewhere.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
/// x [..., rows, cols] where col - row >= diagonal, zero elsewhere.
Tensor triu(const Tensor& x, int64_t diagonal = 0);

}  // namespace tape
