#pragma once

#include "../tensor.h"

namespace tape {

// Arithmetic with NumPy broadcasting: [2, 1, 4] and [3, 1] -> [2, 3, 4]. Both tensors have one dtype (f32, f64 or i64;
// Error (dtype) where they differ); a number takes the tensor's dtype. i64 has no gradients, no division and no pow.
// Error (shape) `add: shapes do not broadcast: [2, 3, 4] and [5] (4 vs 5 on axis -1)`.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
/// a^b; the gradient of b needs a > 0 (where a is 0 it is 0).
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& x, double exponent);
/// The larger or smaller of two; where they are equal each gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
/// a + weight * (b - a), all three broadcast, exact at weight 0 and 1. f32 and f64 alone (Error (dtype)).
Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);
Tensor lerp(const Tensor& a, const Tensor& b, double weight);
/// x * scale + shift. Error (dtype) for i64 with numbers that are not whole.
Tensor affine(const Tensor& x, double scale, double shift);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& x, double s) { return affine(x, 1, s); }
inline Tensor operator-(const Tensor& x, double s) { return affine(x, 1, -s); }
inline Tensor operator*(const Tensor& x, double s) { return affine(x, s, 0); }
inline Tensor operator/(const Tensor& x, double s) { return affine(x, 1 / s, 0); }
inline Tensor operator+(double s, const Tensor& x) { return affine(x, 1, s); }
inline Tensor operator-(double s, const Tensor& x) { return affine(x, -1, s); }
inline Tensor operator*(double s, const Tensor& x) { return affine(x, s, 0); }
Tensor operator/(double s, const Tensor& x);
Tensor operator-(const Tensor& x);

}  // namespace tape
