#pragma once

#include <bit>
#include <cstdint>

// bf16 bits: the upper half of an f32. Always inlined, so that each kernel compiles them for its own CPU level.
namespace tape {

/// Rounds to nearest, ties to even. A NaN keeps its sign and upper bits and becomes quiet, as in CPU instructions.
__attribute__((always_inline)) inline constexpr uint16_t bfloat16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  // Rounding could turn a NaN into a number, and truncation could clear the bits that make it a NaN.
  const uint32_t quiet = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
}

__attribute__((always_inline)) inline constexpr float bfloat16_value(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace tape
