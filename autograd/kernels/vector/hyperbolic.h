#pragma once

// Logarithms, exponentials and functions built from them: hyperbolic functions, softplus and mish. f32 is computed in
// double where sums and differences would cancel.

#include "vec_math.h"

namespace tape::kernels::TAPE_LEVEL {

typedef uint64_t U64 __attribute__((vector_size(TAPE_VECTOR_BYTES)));

/// log of doubles to 2e-12, enough to round to f32: m 2^e with m near 1, log m = 2 artanh((m - 1) / (m + 1)).
TAPE_INLINE F64 coarse_log(F64 x) {
  const U64 bits = (U64)x;
  F64 m = (F64)((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  const I64 above = m > 1.41421356237309505;
  m = above ? m * 0.5 : m;
  // 1.5 * 2^52 + e, as bits and as a value: no level below v4 converts 64-bit integers.
  const F64 e = (F64)((I64)(bits >> 52) - above + (0x4338000000000000 - 1023)) - 6755399441055744.0;
  const F64 s = (m - 1.0) / (m + 1.0), z = s * s;
  F64 p = z * (2.0 / 13) + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  F64 y = e * 0.69314718055994531 + (p * z * s + 2.0 * s);
  y = x < static_cast<double>(kInfinity) ? y : x;  // infinity and NaN
  y = x < 0.0 ? fill(__builtin_nan("")) : y;
  return x == 0.0 ? fill(-static_cast<double>(kInfinity)) : y;
}

/// log(1 + x) of doubles, corrected for the rounding of the sum.
TAPE_INLINE F64 coarse_log1p(F64 x) {
  const F64 u = x + 1.0, y = coarse_log(u) - ((u - 1.0) - x) / u;
  return ((u > 0.0) & (u < static_cast<double>(kInfinity))) ? y : coarse_log(u);
}

/// exp(x) - 1 of doubles to a relative error of 6e-10, also near 0.
TAPE_INLINE F64 coarse_expm1(F64 x) {
  const ExpParts e = exp_parts(x);
  return (e.p * e.r * e.r + e.r) * e.scale + (e.scale - 1.0);
}

TAPE_INLINE F32 log1p(F32 x) { return unless_zero(x, in_double(x, coarse_log1p)); }
TAPE_EACH_LANE(log1p)
TAPE_INLINE F32 log2(F32 x) {
  return in_double(x, [](F64 v) { return coarse_log(v) * 1.4426950408889634; });
}
TAPE_EACH_LANE(log2)
TAPE_INLINE F32 log10(F32 x) {
  return in_double(x, [](F64 v) { return coarse_log(v) * 0.43429448190325183; });
}
TAPE_EACH_LANE(log10)
TAPE_INLINE F32 expm1(F32 x) { return unless_zero(x, in_double(x, coarse_expm1)); }
TAPE_EACH_LANE(expm1)
/// 2^n 2^r with r = x - n in [-0.5, 0.5], which is exact: 1 + r log 2 + r^2 p(r), with p a minimax polynomial. Within 1
/// ulp; this needs fused multiply-adds, so CPUs without them compute it in double.
TAPE_INLINE F32 exp2(F32 x) {
#if defined(__FMA__)
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23
  x = x > 129.0F ? fill(129.0F) : x;
  x = x < -151.0F ? fill(-151.0F) : x;
  const F32 z = x + kRound, r = x - (z - kRound);
  F32 p = r * 1.54718621e-4F + 1.33904605e-3F;
  p = p * r + 9.61802269e-3F;
  p = p * r + 5.55036162e-2F;
  p = p * r + 2.40226512e-1F;
  p = p * r + 6.93147181e-1F;
  return scaled(p * r + 1.0F, (I32)z - 0x4b400000);
#else
  return in_double(x, [](F64 v) { return coarse_exp(v * 0.69314718055994531); });
#endif
}
TAPE_EACH_LANE(exp2)

TAPE_INLINE F32 sinh(F32 x) {
  const F32 size = in_double(absolute(x), [](F64 v) {
    const F64 e = coarse_expm1(v);
    return (e + e / (e + 1.0)) * 0.5;
  });
  return copy_sign(size, x);
}
TAPE_EACH_LANE(sinh)
TAPE_INLINE F32 cosh(F32 x) {
  return in_double(absolute(x), [](F64 v) {
    const F64 e = coarse_exp(v);
    return (e + 1.0 / e) * 0.5;
  });
}
TAPE_EACH_LANE(cosh)
/// log(1 + 2x / (1 - x)) / 2
TAPE_INLINE F32 atanh(F32 x) {
  const F32 size = in_double(absolute(x), [](F64 v) { return coarse_log1p(2.0 * v / (1.0 - v)) * 0.5; });
  return copy_sign(size, x);
}
TAPE_EACH_LANE(atanh)

/// max(x, 0) + log(1 + e), e = exp(-|x|), the logarithm as e + e^2 p(e) with p a minimax polynomial on [0, 1]. Within 3
/// ulp.
TAPE_INLINE F32 softplus(F32 x) {
  const ExpSum e = exp_neg_abs(x);
  F32 p = e.high * -3.31842021e-3F + 2.02043494e-2F;
  p = p * e.high - 5.76640027e-2F;
  p = p * e.high + 1.06805109e-1F;
  p = p * e.high - 1.53553701e-1F;
  p = p * e.high + 1.96953915e-1F;
  p = p * e.high - 2.49585857e-1F;
  p = p * e.high + 3.33305112e-1F;
  p = p * e.high - 4.99999328e-1F;
  return (x > 0.0F ? x : F32{}) + ((p * e.high * e.high + e.low) + e.high);
}
TAPE_INLINE F64 softplus(F64 x) {
  return each_lane(x, [](double v) { return (v > 0 ? v : 0) + __builtin_log1p(__builtin_exp(-__builtin_fabs(v))); });
}

/// tanh(softplus(x)) = w / (w + 2), w = e^x (e^x + 2); 1 beyond 40.
template <class V, class Exp>
TAPE_INLINE V tanh_softplus(V x, const Exp& exponential) {
  const V e = exponential(x > 40.0 ? V{} + 40.0 : x), w = e * (e + 2.0);
  return w / (w + 2.0);
}
/// x tanh(softplus(x))
TAPE_INLINE F32 mish(F32 x) {
  return in_double(x, [](F64 v) {
    const F64 y = v * tanh_softplus(v, coarse_exp);
    return v < -700.0 ? fill(-0.0) : y;
  });
}
TAPE_INLINE F64 mish(F64 x) {
  const F64 y = x * tanh_softplus(x, [](F64 v) { return exp(v); });
  return x < -1e4 ? fill(-0.0) : y;
}
/// t + x s (1 - t^2), t = tanh(softplus(x)), s = sigmoid(x), for |x| < 1e4 and e = exp(min(x, 40)).
TAPE_INLINE F64 mish_slope(F64 x, F64 e) {
  const F64 w = e * (e + 2.0), below = 1.0 / (w + 2.0);
  return w * below + x * (e / (e + 1.0)) * (4.0 * (w + 1.0) * below * below);
}
TAPE_INLINE F32 mish_slope(F32 x) {
  const F32 inside = x > 1e3F ? fill(1e3F) : (x < -1e3F ? fill(-1e3F) : x);
  return in_double(inside, [](F64 v) { return mish_slope(v, coarse_exp(v > 40.0 ? fill(40.0) : v)); });
}
TAPE_INLINE F64 mish_slope(F64 x) {
  const F64 inside = x > 1e3 ? fill(1e3) : (x < -1e3 ? fill(-1e3) : x);
  return mish_slope(inside, exp(inside > 40.0 ? fill(40.0) : inside));
}

}  // namespace tape::kernels::TAPE_LEVEL
