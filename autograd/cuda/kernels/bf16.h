#pragma once

// bfloat16 in kernels: f32 without its lower 16 bits.

#include "device.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>

using bf16 = __nv_bfloat16;

__device__ inline float to_float(bf16 x) { return __bfloat162float(x); }
/// Rounds to the nearest value, halves to an even one.
__device__ inline bf16 to_bf16(float x) { return __float2bfloat16_rn(x); }
#else
struct bf16 {
  uint16_t bits;
};

__device__ inline float to_float(bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
__device__ inline bf16 to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  if (isnan(x)) return {0x7FFF};
  return {static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}
#endif

template <class T>
struct ComputeType {
  using Type = T;
};
template <>
struct ComputeType<bf16> {
  using Type = float;
};
/// The type that values of T are computed in: f32 for bf16.
template <class T>
using Compute = typename ComputeType<T>::Type;

/// A value as it is computed with.
template <class T>
__device__ inline Compute<T> widened(T x) {
  if constexpr (sizeof(T) == sizeof(bf16))
    return to_float(x);
  else
    return x;
}
/// A result as it is stored.
template <class T>
__device__ inline T narrowed(Compute<T> x) {
  if constexpr (sizeof(T) == sizeof(bf16))
    return to_bf16(x);
  else
    return x;
}

/// a + b, rounded once.
template <class T>
__device__ inline T sum_of(T a, T b) {
  return narrowed<T>(widened(a) + widened(b));
}

/// Defines the kernels name_f32, name_f64 and name_bf16 of a function template; T is the type parameter.
#define TAPE_EXPORT_WITH_BF16(name, parameters, arguments) \
  TAPE_EXPORT(name, parameters, arguments)                 \
  TAPE_EXPORT_TYPE(name##_bf16, name, bf16, parameters, arguments)

/// Two values in one register, the first one in the lower half.
__device__ inline uint32_t pack(bf16 first, bf16 second) {
  const bf16 pair[2] = {first, second};
  uint32_t packed;
  memcpy(&packed, pair, sizeof packed);
  return packed;
}
/// The same for two values that are rounded, by one instruction.
__device__ TAPE_INLINE uint32_t pack(float first, float second) {
#ifdef __CUDACC__
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
#else
  return pack(to_bf16(first), to_bf16(second));
#endif
}
