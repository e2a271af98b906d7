#pragma once

#include "../../tensor.h"

namespace tape {

// Elementwise exponentials, logarithms and hyperbolic functions other than exp, log and tanh (unary.h): x of any shape
// -> the same shape. Floating dtypes, of which f16 and bf16 are computed in f32; Error (dtype) for others.
Tensor expm1(const Tensor& x);  ///< e^x - 1, accurate for x near 0
Tensor log1p(const Tensor& x);  ///< log(1 + x), accurate for x near 0
Tensor exp2(const Tensor& x);   ///< 2^x
Tensor log2(const Tensor& x);   ///< logarithm to base 2
Tensor log10(const Tensor& x);  ///< logarithm to base 10
Tensor sinh(const Tensor& x);   ///< (e^x - e^-x) / 2
Tensor cosh(const Tensor& x);   ///< (e^x + e^-x) / 2
Tensor atanh(const Tensor& x);  ///< log((1 + x) / (1 - x)) / 2

}  // namespace tape
