#pragma once

#include "../tensor.h"

namespace tape {

// Comparisons, broadcast; the result is bool. Both sides have one dtype (Error (dtype)), and their shapes broadcast
// (Error (shape)).
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);
Tensor logical_and(const Tensor& a, const Tensor& b);  ///< of bool tensors, broadcast
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

/// condition ? a : b, all three broadcast; condition is bool, a and b have one dtype (Error (dtype)).
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// x with `value` where the mask (bool, broadcast to x) is true; gradient 0 there.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

}  // namespace tape
