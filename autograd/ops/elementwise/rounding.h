#pragma once

#include "../../number.h"
#include "../../tensor.h"

namespace tape {

// Rounding, elementwise: x of any shape -> the same shape and dtype. Floating dtypes, of which f16 and bf16
// are computed in f32; Error (dtype) for others. The gradients of round, floor, ceil and trunc are zero.
Tensor round(const Tensor& x);  ///< nearest integer, ties to even
/// Rounds to `decimals` decimals, or to 10, 100, ... if negative: round(x 10^d) / 10^d, ties to even. x itself where it
/// has no such digits. Gradient and dtypes as in round().
Tensor round(const Tensor& x, int64_t decimals);
Tensor floor(const Tensor& x);  ///< largest integer not above x
Tensor ceil(const Tensor& x);   ///< smallest integer not below x
Tensor trunc(const Tensor& x);  ///< toward 0
Tensor frac(const Tensor& x);   ///< x - trunc(x)
/// a - b floor(a / b), broadcast, with b's sign, like Python's %; exact even for large a / b (PyTorch: NaN where it is
/// infinite). Dtypes as in arithmetic.h. Error (config) for integers if the divisor contains a 0.
/// @{
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, const Number& b);
/// @}

}  // namespace tape
