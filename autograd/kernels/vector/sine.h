#pragma once

// Sine, cosine and tangent of vectors.

#include "vec_math.h"

namespace tape::kernels::TAPE_LEVEL {

/// Larger arguments are left to the C library: q * pi/2 below is exact for q < 2^20.
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

/// sin (quarter 0) or cos (quarter 1) of floats; large arguments lane by lane.
template <int quarter>
TAPE_INLINE F32 sine(F32 x) {
  F32 y = in_double(x, [](F64 v) { return sine(v, quarter); });
  const I32 large = ~(absolute(x) <= kLargestReduced);
  bool any = false;
  for (int i = 0; i < kLanes<float>; ++i) any |= large[i] != 0;
  if (__builtin_expect(any, false))
    for (int i = 0; i < kLanes<float>; ++i)
      if (large[i]) y[i] = quarter ? __builtin_cosf(x[i]) : __builtin_sinf(x[i]);
  return y;
}

TAPE_INLINE F32 sin(F32 x) { return unless_zero(x, sine<0>(x)); }
TAPE_EACH_LANE(sin)
TAPE_INLINE F32 cos(F32 x) { return sine<1>(x); }
TAPE_EACH_LANE(cos)

/// sin / cos; large arguments lane by lane.
TAPE_INLINE F32 tan(F32 x) {
  F32 y = in_double(x, [](F64 v) { return sine(v, 0) / sine(v, 1); });
  const I32 large = ~(absolute(x) <= kLargestReduced);
  bool any = false;
  for (int i = 0; i < kLanes<float>; ++i) any |= large[i] != 0;
  if (__builtin_expect(any, false))
    for (int i = 0; i < kLanes<float>; ++i)
      if (large[i]) y[i] = __builtin_tanf(x[i]);
  return unless_zero(x, y);
}
TAPE_EACH_LANE(tan)

}  // namespace tape::kernels::TAPE_LEVEL
