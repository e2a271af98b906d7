#pragma once

// Inverse trigonometric functions (Cephes asinf, acosf and atanf). The templates also serve single values, because
// loops over two operands do not use vectors.

#include "vec_math.h"

namespace tape::kernels::TAPE_LEVEL {

inline constexpr float kPi = 3.14159265358979324F, kHalfPi = 1.57079632679489662F, kQuarterPi = 0.785398163397448310F;

/// asin(s) for s in [0, 0.5], z = s^2.
TAPE_INLINE F32 small_asin(F32 s, F32 z) {
  F32 p = z * 4.2163199048e-2F + 2.4181311049e-2F;
  p = p * z + 4.5470025998e-2F;
  p = p * z + 7.4953002686e-2F;
  p = p * z + 1.6666752422e-1F;
  return p * z * s + s;
}
/// Beyond 1/2, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
TAPE_INLINE F32 asin(F32 x) {
  const F32 size = absolute(x);
  const I32 far = size > 0.5F;
  const F32 z = far ? 0.5F * (1.0F - size) : size * size, p = small_asin(far ? square_root(z) : size, z);
  return copy_sign(far ? kHalfPi - (p + p) : p, x);
}
TAPE_EACH_LANE(asin)
TAPE_INLINE F32 acos(F32 x) {
  const F32 size = absolute(x);
  const I32 far = size > 0.5F;
  const F32 z = far ? 0.5F * (1.0F - size) : size * size, p = small_asin(far ? square_root(z) : size, z);
  const F32 beyond = x < 0.0F ? kPi - (p + p) : p + p;
  return far ? beyond : kHalfPi - copy_sign(p, x);
}
TAPE_EACH_LANE(acos)

/// atan(x) for |x| <= tan(pi/8).
template <class V>
TAPE_INLINE V small_atan(V x) {
  const V z = x * x;
  V p = z * 8.05374449538e-2F - 1.38776856032e-1F;
  p = p * z + 1.99777106478e-1F;
  p = p * z - 3.33329491539e-1F;
  return p * z * x + x;
}
TAPE_INLINE F32 atan(F32 x) {
  const F32 size = absolute(x);
  const I32 far = size > 2.414213562373095F, middle = size > 0.4142135623730950F;
  const F32 above = far ? fill(-1.0F) : (middle ? size - 1.0F : size);
  const F32 below = far ? size : (middle ? size + 1.0F : fill(1.0F));
  const F32 start = far ? fill(kHalfPi) : (middle ? fill(kQuarterPi) : F32{});
  return copy_sign(start + small_atan(above / below), x);
}
TAPE_EACH_LANE(atan)

/// The angle of the point (x, y), without branches, so that loops over it vectorize.
TAPE_INLINE float atan2(float y, float x) {
  const float across = __builtin_fabsf(x), up = __builtin_fabsf(y);
  const bool steep = up > across;
  const float longer = steep ? up : across, shorter = steep ? across : up;
  float t = shorter / longer;
  t = longer == 0 ? 0 : t;
  t = shorter == kInfinity ? 1 : t;
  const bool far = t > 0.4142135623730950F;
  float angle = small_atan(far ? (t - 1) / (t + 1) : t) + (far ? kQuarterPi : 0);
  angle = steep ? kHalfPi - angle : angle;
  angle = __builtin_copysignf(1, x) < 0 ? kPi - angle : angle;
  angle = __builtin_copysignf(angle, y);
  return ((x != x) | (y != y)) ? x + y : angle;
}
TAPE_INLINE double atan2(double y, double x) { return __builtin_atan2(y, x); }

}  // namespace tape::kernels::TAPE_LEVEL
