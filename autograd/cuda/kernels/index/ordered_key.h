#pragma once

#include "../device.h"

/// A key that orders values as numbers, 0 and -0 alike, with NaN last.
__device__ inline uint64_t key_of(float x) {
  if (x != x) return UINT32_MAX;
  const uint32_t bits = __float_as_uint(x == 0 ? 0.0F : x);
  return bits >> 31 ? ~bits : bits | 0x80000000U;
}
__device__ inline uint64_t key_of(double x) {
  if (x != x) return UINT64_MAX;
  const auto bits = static_cast<uint64_t>(__double_as_longlong(x == 0 ? 0.0 : x));
  return bits >> 63 ? ~bits : bits | (uint64_t{1} << 63);
}
