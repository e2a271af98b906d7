#pragma once

// The functions of one operand, in vectors, and their derivatives.

#include "elementwise.h"
#include "vec_math.h"

namespace tape::kernels::TAPE_LEVEL {

/// Arguments beyond this are reduced by the C library: q * pi/2 below is exact for q < 2^20.
inline constexpr float kLargestReduced = 1e5F;

/// sin (quarter 0) or cos (quarter 1) of |x| <= kLargestReduced, in double: x = q pi/2 + r, then fdlibm's polynomials.
TAPE_INLINE F64 sine(F64 x, int64_t quarter) {
  constexpr double kRound = 6755399441055744.0;
  const F64 rounded = x * 0.63661977236758138 + kRound, q = rounded - kRound;
  const I64 turn = (I64)rounded + quarter;
  const F64 r = (x - q * 1.57079632673412561417) - q * 6.07710050650619224932e-11, s = r * r;
  F64 sin = s * 2.75573137070700676789e-6 - 1.98412698298579493134e-4;
  sin = sin * s + 8.33333333332248946124e-3;
  sin = sin * s - 1.66666666666666324348e-1;
  sin = sin * s * r + r;
  F64 cos = s * 2.48015872894767294178e-5 - 1.38888888888741095749e-3;
  cos = cos * s + 4.16666666666666019037e-2;
  cos = cos * s - 0.5;
  cos = cos * s + 1.0;
  const F64 y = (turn & 1) != 0 ? cos : sin;
  return (F64)((I64)y ^ ((turn & 2) << 62));
}

template <bool Cosine>
TAPE_INLINE F32 sine_or_cosine(F32 x) {
  return in_double(x, [](F64 v) { return sine(v, Cosine ? 1 : 0); });
}
template <bool Cosine>
TAPE_INLINE F64 sine_or_cosine(F64 x) {
  return each_lane(x, [](double v) { return Cosine ? __builtin_cos(v) : __builtin_sin(v); });
}

template <Unary op, class V>
TAPE_INLINE V unary_value(V x) {
  if constexpr (op == Unary::neg) return -x;
  if constexpr (op == Unary::abs) return absolute(x);
  if constexpr (op == Unary::sign) return x > 0 ? V{} + 1 : (x < 0 ? V{} - 1 : x);  // zero and NaN stay
  if constexpr (op == Unary::square) return x * x;
  if constexpr (op == Unary::reciprocal) return 1 / x;
  if constexpr (op == Unary::exp) return exp(x);
  if constexpr (op == Unary::log) return log(x);
  if constexpr (op == Unary::sqrt) return square_root(x);
  if constexpr (op == Unary::rsqrt) return 1 / square_root(x);
  if constexpr (op == Unary::sin) return sine_or_cosine<false>(x);
  if constexpr (op == Unary::cos) return sine_or_cosine<true>(x);
  if constexpr (op == Unary::tanh) return tanh(x);
  if constexpr (op == Unary::sigmoid) return sigmoid(x);
  if constexpr (op == Unary::erf) return erf(x);
  if constexpr (op == Unary::relu) return x < 0 ? V{} : x;
  if constexpr (op == Unary::gelu) return gelu(x);
  if constexpr (op == Unary::gelu_tanh) return gelu_tanh(x);
  if constexpr (op == Unary::silu) return silu(x);
}

/// The derivative: of tanh and sigmoid from their value, of the others from x.
template <Unary op, class V>
TAPE_INLINE V unary_slope(V v) {
  if constexpr (op == Unary::tanh) return 1 - v * v;
  if constexpr (op == Unary::sigmoid) return v * (1 - v);
  if constexpr (op == Unary::relu) return v <= 0 ? V{} : V{} + 1;
  if constexpr (op == Unary::silu) {
    const V y = sigmoid(v);
    return y + silu(v) * (1 - y);
  }
  constexpr auto number = [](double value) { return static_cast<__typeof__(v[0] + 0)>(value); };
  if constexpr (op == Unary::gelu) return gelu_slope(v);
  if constexpr (op == Unary::gelu_tanh) {  // of x / (1 + exp(-2u))
    const V square = v * v, u2 = v * number(2 * kGeluScale) * (square * number(kGeluCubic) + 1);
    const V du2 = (square * number(3 * kGeluCubic) + 1) * number(2 * kGeluScale);
    const V e = exp(-absolute(u2)), share = 1 / (e + 1);
    const V slope = (v < 0 ? e : V{} + 1) * share + v * e * share * share * du2;
    return v > 40 ? V{} + 1 : (v < -40 ? V{} : slope);  // infinities times zero
  }
}

/// sin and cos of floats: large arguments again, by the C library.
template <bool Cosine>
TAPE_INLINE float sine_of_large(float x) {
  return Cosine ? __builtin_cosf(x) : __builtin_sinf(x);
}

template <Unary op, class T>
TAPE_INLINE void unary_range(int64_t n, const T* x, T* y) {
  constexpr bool reduced = sizeof(T) == sizeof(float) && (op == Unary::sin || op == Unary::cos);
  if constexpr (!reduced) {
    map_vectors(n, x, y, [](Vec<T> v) { return unary_value<op>(v); });
  } else {
    map_vectors(n, x, y, [](Vec<T> v) {
      Vec<T> result = unary_value<op>(v);
      const I32 large = ~(absolute(v) <= kLargestReduced);
      bool any = false;
      for (int i = 0; i < kLanes<T>; ++i) any |= large[i] != 0;
      if (__builtin_expect(any, false))
        for (int i = 0; i < kLanes<T>; ++i)
          if (large[i]) result[i] = sine_of_large<op == Unary::cos>(v[i]);
      return result;
    });
  }
}

}  // namespace tape::kernels::TAPE_LEVEL
