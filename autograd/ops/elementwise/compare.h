#pragma once

#include "../../number.h"
#include "../../tensor.h"

namespace tape {

/// a == b, a != b, a < b, a <= b, a > b and a >= b for each element, as functions and as operators: broadcast (Error
/// (shape)); the result is bool. Different dtypes are promoted as in arithmetic; an integer tensor and a floating
/// scalar are compared in f64.
/// @{
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, const Number& b);
Tensor ne(const Tensor& a, const Number& b);
Tensor lt(const Tensor& a, const Number& b);
Tensor le(const Tensor& a, const Number& b);
Tensor gt(const Tensor& a, const Number& b);
Tensor ge(const Tensor& a, const Number& b);
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, const Number& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Number& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Number& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Number& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Number& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Number& b) { return ge(a, b); }
inline Tensor operator==(const Number& a, const Tensor& b) { return eq(b, a); }
inline Tensor operator!=(const Number& a, const Tensor& b) { return ne(b, a); }
inline Tensor operator<(const Number& a, const Tensor& b) { return gt(b, a); }
inline Tensor operator<=(const Number& a, const Tensor& b) { return ge(b, a); }
inline Tensor operator>(const Number& a, const Tensor& b) { return lt(b, a); }
inline Tensor operator>=(const Number& a, const Tensor& b) { return le(b, a); }
/// @}
/// Logical operations of bool tensors (Error (dtype) for others), broadcast; as operators: a & b, a | b, a ^ b, ~x.
/// @{
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
inline Tensor operator&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
inline Tensor operator^(const Tensor& a, const Tensor& b) { return logical_xor(a, b); }
inline Tensor operator~(const Tensor& x) { return logical_not(x); }
/// @}

// Classification of values as bool; i64 and bool are always finite.
Tensor isfinite(const Tensor& x);  ///< neither infinite nor NaN
Tensor isinf(const Tensor& x);     ///< either sign
Tensor isnan(const Tensor& x);     ///< NaN

/// Options of isclose() and allclose().
struct CloseOptions {
  double rtol = 1e-5;      ///< tolerance relative to |b|
  double atol = 1e-8;      ///< absolute tolerance
  bool equal_nan = false;  ///< whether NaN is close to NaN
};
/// |a - b| <= atol + rtol |b| as bool, broadcast; an infinity is close only to itself. Any dtype, the same for both
/// (Error (dtype)). Error (config) for a negative tolerance.
Tensor isclose(const Tensor& a, const Tensor& b, const CloseOptions& options = {});
/// Whether isclose() holds for all elements.
bool allclose(const Tensor& a, const Tensor& b, const CloseOptions& options = {});

/// condition ? a : b, all three broadcast. condition is bool (Error (dtype)); a and b are promoted as in arithmetic.
/// @{
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Number& b);
Tensor where(const Tensor& condition, const Number& a, const Tensor& b);
/// @}
/// x with `value` where the mask (bool, broadcast to x) is true; gradient 0 there. Error (numeric) if x has an integer
/// dtype that cannot represent the value.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Number& value);

}  // namespace tape
