#pragma once

#include <bit>
#include <cstdint>

// The 16 bits of a bf16: the upper half of an f32. Always inlined, so that a kernel gets the instructions of its own
// CPU level and no other's.
namespace tape {

/// Rounded to the nearest, of two the even one; a NaN keeps its sign and upper bits and is quiet, as CPUs convert it.
__attribute__((always_inline)) inline constexpr uint16_t bfloat16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  // Rounding would carry a NaN over to a number, or drop the bits that make it one.
  const uint32_t quiet = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
}

__attribute__((always_inline)) inline constexpr float bfloat16_value(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace tape
