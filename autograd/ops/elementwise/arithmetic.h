#pragma once

#include "../../number.h"
#include "../../tensor.h"

namespace tape {

/// a + b, a - b and a * b with NumPy broadcasting: [2, 1, 4] and [3, 1] -> [2, 3, 4]. Error (shape) `add: shapes do not
/// broadcast: [2, 3, 4] and [5] (4 vs 5 on axis -1)`.
///
/// Dtypes are promoted as in PyTorch (result_type() in promote.h): f32 with f64 gives f64, i64 with f32 gives f32,
/// i32 with 2 stays i32, i32 with 2.0 gives f32; gradients have the dtype of each operand. f16 and bf16 are computed in
/// f32 and rounded to nearest; i64, i32 and u8 wrap. For bool, + is or and * is and; - is an Error (dtype).
/// @{
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
/// @}
/// a / b, broadcast and promoted as in add(); integers and bool are divided in f32.
Tensor div(const Tensor& a, const Tensor& b);
/// a^b. The gradient of b needs a > 0; at a = 0 it is 0 for b >= 0 and -inf for b < 0. Integers give an integer;
/// negative powers give 0 except for bases 1 and -1. Error (config) for an integer tensor with a negative scalar power.
/// @{
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& x, const Number& exponent);
/// @}
/// Elementwise maximum and minimum. Equal operands get half of the gradient each. NaN if either is NaN: then both get
/// the whole gradient, as in PyTorch.
/// @{
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
/// @}
/// a + weight * (b - a), all three broadcast, exact at weight 0 and 1. Floating dtypes; Error (dtype) for others.
/// @{
Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);
Tensor lerp(const Tensor& a, const Tensor& b, double weight);
/// @}
/// x * scale + shift, in the dtype of x. Error (dtype) for an integer x with a scale or shift that is not an integer,
/// and for bool.
Tensor affine(const Tensor& x, double scale, double shift);

/// add(), sub(), mul(), div() and neg() as operators; scalars are promoted as described at add().
/// @{
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
Tensor operator+(const Tensor& x, const Number& s);
Tensor operator-(const Tensor& x, const Number& s);
Tensor operator*(const Tensor& x, const Number& s);
Tensor operator/(const Tensor& x, const Number& s);
inline Tensor operator+(const Number& s, const Tensor& x) { return x + s; }
Tensor operator-(const Number& s, const Tensor& x);
inline Tensor operator*(const Number& s, const Tensor& x) { return x * s; }
Tensor operator/(const Number& s, const Tensor& x);
Tensor operator-(const Tensor& x);
/// @}

}  // namespace tape
