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

/// Two values in one register, the first one in the lower half.
__device__ inline uint32_t pack(bf16 first, bf16 second) {
  const bf16 pair[2] = {first, second};
  uint32_t packed;
  memcpy(&packed, pair, sizeof packed);
  return packed;
}
