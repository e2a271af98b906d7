#pragma once

// Elementary functions of vectors. f32: polynomials with an error of at most 2 ulp, gelu 8
// (tests/autograd/kernels/vector/vec_math.cpp). f64 is used in gradient checks, where accuracy matters, and calls the C
// library lane by lane.

#include "vec.h"

namespace tape::kernels::TAPE_LEVEL {

template <class F>
TAPE_INLINE F64 each_lane(F64 x, const F& f) {
  F64 y = x;
  for (int i = 0; i < kLanes<double>; ++i) y[i] = f(x[i]);
  return y;
}

/// Applies a function of the C library to each lane.
#define TAPE_EACH_LANE(name)                                           \
  TAPE_INLINE F64 name(F64 x) {                                        \
    return each_lane(x, [](double v) { return __builtin_##name(v); }); \
  }

/// Evaluates f in double for floats, where cancellation would make f32 too inaccurate.
template <class F>
TAPE_INLINE F32 in_double(F32 x, const F& f) {
  return join_halves(f(low_half(x)), f(high_half(x)));
}

TAPE_INLINE F32 absolute(F32 x) { return (F32)((I32)x & 0x7fffffff); }
TAPE_INLINE F64 absolute(F64 x) { return (F64)((I64)x & 0x7fffffffffffffff); }
TAPE_INLINE F32 copy_sign(F32 size, F32 sign) {
  return (F32)(((I32)size & 0x7fffffff) | ((I32)sign & static_cast<int32_t>(0x80000000)));
}
/// x where x is zero, else y: odd functions keep the sign of zero.
TAPE_INLINE F32 unless_zero(F32 x, F32 y) { return x == 0.0F ? x : y; }
TAPE_INLINE F32 power_of_two(I32 n) { return (F32)((n + 127) << 23); }

/// exp(x) = 2^n exp(r), r = x - n ln 2 in [-0.35, 0.35] (Cephes expf): exp(r) = 1 + r + tail, summed by the caller so
/// that it is rounded only once.
struct ReducedExp {
  F32 r, tail;
  I32 n;
};
TAPE_INLINE ReducedExp reduced_exp(F32 x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
  F32 z = x * 1.44269504088896341F + kRound;
  const I32 n = (I32)z - 0x4b400000;
  z = z - kRound;
  const F32 high = x - z * 0.693359375F, low = z * 2.12194440e-4F;
  const F32 r = high + low, lost = (high - r) + low;
  F32 p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return {r, p * (r * r) + lost, n};
}
/// x 2^n, also for subnormal and overflowing results.
TAPE_INLINE F32 scaled(F32 x, I32 n) {
#if defined(__AVX512F__)
  return (F32)_mm512_maskz_scalef_ps(0xffff, (__m512)x, (__m512) __builtin_convertvector(n, F32));
#else
  const I32 half = n >> 1;  // two factors cover both the largest and the subnormal values
  return x * power_of_two(half) * power_of_two(n - half);
#endif
}

/// exp(x) for -110 <= x <= 89.
TAPE_INLINE F32 exp_inside(F32 x) {
  const ReducedExp e = reduced_exp(x);
  return scaled(e.tail + e.r + 1.0F, e.n);
}
TAPE_INLINE F32 exp(F32 x) {
  x = x > 89.0F ? fill(89.0F) : x;
  return exp_inside(x < -110.0F ? fill(-110.0F) : x);
}
/// exp(x) for x <= 0, flushing subnormal results to zero: for probabilities, where masked scores (-inf) are common and
/// subnormal arithmetic is slow.
TAPE_INLINE F32 exp_of_negative(F32 x) {
  const ReducedExp e = reduced_exp(x < -87.3F ? fill(-87.3F) : x);
  return x < -87.3F ? F32{} : (e.tail + e.r + 1.0F) * power_of_two(e.n);
}
TAPE_EACH_LANE(exp)
TAPE_INLINE F64 exp_of_negative(F64 x) { return exp(x); }

/// Cephes logf.
TAPE_INLINE F32 log(F32 x) {
  const I32 tiny = x < 1.17549435e-38F;
  const F32 normal = tiny ? x * 8388608.0F : x;
  I32 e = (((I32)normal >> 23) & 0xff) - 126;
  e = tiny ? e - 23 : e;
  F32 m = (F32)(((I32)normal & 0x007fffff) | 0x3f000000);
  const I32 below = m < 0.707106781186547524F;
  e = below ? e - 1 : e;
  m = (below ? m + m : m) - 1.0F;
  const F32 exponent = __builtin_convertvector(e, F32), z = m * m;
  F32 p = m * 7.0376836292e-2F - 1.1514610310e-1F;
  p = p * m + 1.1676998740e-1F;
  p = p * m - 1.2420140846e-1F;
  p = p * m + 1.4249322787e-1F;
  p = p * m - 1.6668057665e-1F;
  p = p * m + 2.0000714765e-1F;
  p = p * m - 2.4999993993e-1F;
  p = p * m + 3.3333331174e-1F;
  F32 y = p * m * z - exponent * 2.12194440e-4F;
  y = y - 0.5F * z;
  y = m + y + exponent * 0.693359375F;
  y = x < kInfinity ? y : x;  // infinity and NaN
  y = x < 0.0F ? fill(__builtin_nanf("")) : y;
  return x == 0.0F ? fill(-kInfinity) : y;
}
TAPE_EACH_LANE(log)

// Masked forms are used because GCC 12 warns of an uninitialized value inside its own unmasked ones.
TAPE_INLINE F32 square_root(F32 x) {
#if defined(__AVX512F__)
  return (F32)_mm512_maskz_sqrt_ps(0xffff, (__m512)x);
#elif defined(__AVX2__)
  return (F32)_mm256_sqrt_ps((__m256)x);
#else
  for (int i = 0; i < kLanes<float>; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}
TAPE_INLINE F64 square_root(F64 x) {
#if defined(__AVX512F__)
  return (F64)_mm512_maskz_sqrt_pd(0xff, (__m512d)x);
#elif defined(__AVX2__)
  return (F64)_mm256_sqrt_pd((__m256d)x);
#else
  return each_lane(x, [](double v) { return __builtin_sqrt(v); });
#endif
}

/// Cephes tanhf: an odd polynomial near 0, else from exp(2 |x|).
TAPE_INLINE F32 tanh(F32 x) {
  const F32 size = absolute(x), s = x * x;
  const F32 far = 1.0F - 2.0F / (exp(size + size) + 1.0F);
  F32 p = s * -5.70498872745e-3F + 2.06390887954e-2F;
  p = p * s - 5.37397155531e-2F;
  p = p * s + 1.33314422036e-1F;
  p = p * s - 3.33332819422e-1F;
  return size > 0.625F ? copy_sign(far, x) : unless_zero(x, p * s * x + x);
}
TAPE_EACH_LANE(tanh)

/// N. Juffa's erff: a polynomial near 0, else 1 - exp(polynomial).
TAPE_INLINE F32 erf(F32 x) {
  const F32 t = absolute(x), s = x * x;
  F32 far = t * -1.72853470e-5F + 3.83197126e-4F;
  far = far * s + (t * -3.88396438e-3F + 2.42546219e-2F);
  far = far * t - 1.06777877e-1F;
  far = far * t - 6.34846687e-1F;
  far = far * t - 1.28717512e-1F;
  far = far * t - t;
  far = 1.0F - exp_of_negative(far);
  far = t > 4.0F ? fill(1.0F) : far;  // the polynomial is only fitted up to where erf rounds to 1
  F32 near = s * -5.96761703e-4F + 4.99119423e-3F;
  near = near * s - 2.67681349e-2F;
  near = near * s + 1.12819925e-1F;
  near = near * s - 3.76125336e-1F;
  near = near * s + 1.28379166e-1F;
  return t > 0.927734375F ? copy_sign(far, x) : near * x + x;
}
TAPE_EACH_LANE(erf)

/// exp(x) of doubles as scale (1 + r + p r^2), with |r| at most log(2) / 2 and scale a power of two; p is the minimax
/// polynomial of degree 5, with an error of p r^2 of 5e-11. NaN propagates.
struct ExpParts {
  F64 p, r, scale;
};
TAPE_INLINE ExpParts exp_parts(F64 x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  x = x > 709.0 ? fill(709.0) : x;
  x = x < -708.0 ? fill(-708.0) : x;
  F64 z = x * 1.4426950408889634 + kRound;
  const I64 n = (I64)z - 0x4338000000000000;
  z = z - kRound;
  const F64 r = x - z * 0.69314718055994531;
  F64 p = r * 0.00019917832476 + 0.00139460867092;
  p = p * r + 0.00833326541281;
  p = p * r + 0.04166626969332;
  p = p * r + 0.16666666855839;
  p = p * r + 0.50000000780128;
  return {p, r, (F64)((n + 1023) << 52)};
}

/// exp of doubles to 5e-11, enough to round to f32. NaN propagates.
TAPE_INLINE F64 coarse_exp(F64 x) {
  const ExpParts e = exp_parts(x);
  F64 p = e.p * e.r + 1.0;
  p = p * e.r + 1.0;
  return p * e.scale;
}

/// a - x y, exactly, if that is the rounding error of the product or of the quotient.
TAPE_INLINE F32 product_error(F32 a, F32 x, F32 y) {
#if defined(__AVX512F__)
  return (F32)_mm512_fnmadd_ps((__m512)x, (__m512)y, (__m512)a);
#elif defined(__FMA__)
  return (F32)_mm256_fnmadd_ps((__m256)x, (__m256)y, (__m256)a);
#else
  // Products of half-length significands are exact (Dekker 1971).
  const F32 high_x = (F32)((I32)x & static_cast<int32_t>(0xfffff000)), low_x = x - high_x;
  const F32 high_y = (F32)((I32)y & static_cast<int32_t>(0xfffff000)), low_y = y - high_y;
  return (((a - high_x * high_y) - high_x * low_y) - low_x * high_y) - low_x * low_y;
#endif
}

/// exp(-|x|) as high + low, because a single float would be off by up to an ulp.
struct ExpSum {
  F32 high, low;
};
TAPE_INLINE ExpSum exp_neg_abs(F32 x) {
  const F32 size = absolute(x);
  const ReducedExp e = reduced_exp(size > 104.0F ? fill(-104.0F) : -size);
  const F32 rest = e.r + e.tail, sum = rest + 1.0F;
  return {scaled(sum, e.n), scaled((rest - (sum - 1.0F)) + ((e.r - rest) + e.tail), e.n)};
}

/// e / (1 + e) or 1 / (1 + e), e = exp(-|x|), whichever is accurate in the tails. The sum is kept as two floats too,
/// and the remainder of the quotient is divided again: within 1 ulp.
TAPE_INLINE F32 sigmoid(F32 x) {
  const ExpSum e = exp_neg_abs(x);
  const F32 below = e.high + 1.0F, lost = (e.high - (below - 1.0F)) + e.low;
  const F32 above = x < 0.0F ? e.high : fill(1.0F), y = above / below;
  const F32 left = product_error(above, y, below) + ((x < 0.0F ? e.low : F32{}) - y * lost);
  return y + left * (x < 0.0F ? 1.0F - y : y);  // y or 1 - y is 1 / (1 + e)
}
TAPE_INLINE F64 sigmoid(F64 x) {
  return each_lane(x, [](double v) {
    const double e = __builtin_exp(-__builtin_fabs(v));
    return (v < 0 ? e : 1.0) / (1.0 + e);
  });
}
TAPE_INLINE F32 silu(F32 x) {
  return in_double(x, [](F64 v) {
    const F64 y = v / (1.0 + coarse_exp(-v));
    return v < -700.0 ? fill(-0.0) : y;  // -inf / inf
  });
}
TAPE_INLINE F64 silu(F64 x) {
  return each_lane(x, [](double v) {
    const double e = __builtin_exp(-__builtin_fabs(v));
    return v < -1e4 ? -0.0 : (v < 0 ? v * e : v) / (1.0 + e);
  });
}

/// |x|, clamped to 14.6, where the tail of the normal distribution becomes subnormal.
TAPE_INLINE F32 normal_size(F32 x) {
  const F32 size = absolute(x);
  return size > 14.6F ? fill(14.6F) : size;
}
/// The normal tail probability erfc(size / sqrt 2) / 2 and e^(-size^2 / 2), for size from 0 to 14.6. Computed as a
/// product of small factors, it keeps its relative accuracy far out, where 1 - erf would cancel: tail e^(size^2/2)
/// (size + 3.5) is a polynomial in (size - 3.5) / (size + 3.5).
struct NormalTail {
  F32 tail, exponential;
};
TAPE_INLINE NormalTail normal_tail(F32 size) {
  const F32 s = 1.0F / (size + 3.5F), t = (size - 3.5F) * s;
  F32 p = t * 1.10285691e-4F + 4.21167584e-4F;
  p = p * t - 4.94977459e-4F;
  p = p * t - 3.174813e-3F;
  p = p * t + 6.49324572e-3F;
  p = p * t + 1.74062683e-2F;
  p = p * t - 1.16053067e-1F;
  p = p * t + 3.15425068e-1F;
  p = p * t - 5.65561771e-1F;
  p = p * t + 7.44416058e-1F;
  const F32 square = size * size, e = exp_inside(square * -0.5F);
  const F32 exponential = e + e * (product_error(square, size, size) * 0.5F);
  return {p * s * exponential, exponential};
}
/// x P(x), with P the normal CDF: relu(x) - |x| P(-|x|). Within 8 ulp; subnormal results, below -14.6, are flushed to
/// zero.
TAPE_INLINE F32 gelu(F32 x) {
  const F32 size = normal_size(x);
  return (x < 0.0F ? fill(-0.0F) : x) - size * normal_tail(size).tail;
}
/// P(x) + x p(x), with p the normal density.
TAPE_INLINE F32 gelu_slope(F32 x) {
  const F32 size = normal_size(x);
  const NormalTail normal = normal_tail(size);
  const F32 below = normal.tail - size * (normal.exponential * 0.39894228F);  // at -size
  return x < 0.0F ? below : 1.0F - below;
}
TAPE_INLINE F64 gelu_slope(F64 x) {
  return each_lane(x, [](double v) {
    const double density = __builtin_exp(-0.5 * v * v) * 0.39894228040143268;
    return 0.5 * __builtin_erfc(v * -0.70710678118654752) + (__builtin_fabs(v) > 40 ? 0 : v * density);
  });
}
TAPE_INLINE F64 gelu(F64 x) {
  return each_lane(x, [](double v) { return v < -40.0 ? -0.0 : 0.5 * v * __builtin_erfc(v * -0.70710678118654752); });
}

inline constexpr double kGeluScale = 0.79788456080286536;  // sqrt(2 / pi)
inline constexpr double kGeluCubic = 0.044715;

/// x/2 (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks and Gimpel 2016).
TAPE_INLINE F32 gelu_tanh(F32 x) {
  return in_double(x, [](F64 v) {
    const F64 y = v / (1.0 + coarse_exp(v * (-2.0 * kGeluScale) * (1.0 + kGeluCubic * v * v)));
    return v < -40.0 ? fill(-0.0) : y;
  });
}
TAPE_INLINE F64 gelu_tanh(F64 x) {
  return each_lane(x, [](double v) {
    if (v < -40.0) return -0.0;
    return v / (1.0 + __builtin_exp(v * (-2.0 * kGeluScale) * (1.0 + kGeluCubic * v * v)));
  });
}

}  // namespace tape::kernels::TAPE_LEVEL
