#pragma once

#include "../../number.h"
#include "../../tensor.h"

namespace tape {

// Whole numbers out of others, x of any shape -> the same shape and dtype. f32 and f64; Error (dtype) for others. The
// gradients of round, floor, ceil and trunc are zero.
Tensor round(const Tensor& x);  ///< the nearest whole number, of two the even one
/// To so many digits behind the point, or to 10, 100, ... where there are fewer than none: round(x 10^d) / 10^d, a half
/// goes to the even neighbour. x itself where it has no digits there. Gradient and dtypes as round().
Tensor round(const Tensor& x, int64_t decimals);
Tensor floor(const Tensor& x);  ///< the largest that is not above x
Tensor ceil(const Tensor& x);   ///< the least that is not below x
Tensor trunc(const Tensor& x);  ///< towards 0
Tensor frac(const Tensor& x);   ///< x - trunc(x)
/// a - b floor(a / b), broadcast, of b's sign, as Python's %; exact however large a / b is (PyTorch: NaN where it is
/// infinite). Dtypes as in arithmetic.h; Error (config) for a whole
/// divisor that holds a 0 of a whole dividend.
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, const Number& b);

}  // namespace tape
