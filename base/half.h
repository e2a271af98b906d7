#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "bfloat16.h"

namespace tape {
namespace detail {

/// Bits of the IEEE 754 half-precision value (1 sign, 5 exponent, 10 fraction) nearest to `value`, ties to even;
/// infinity from 65520 on.
constexpr uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) {
    // Below 2^-14 an f16 is a multiple of 2^-24, as is an f32 in [1/2, 1): adding 1/2 rounds to it.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3F000000));
  }
  const uint32_t odd = magnitude >> 13 & 1;  // ties round to even
  return static_cast<uint16_t>(sign | (magnitude + 0xFFF + odd - 0x38000000) >> 13);
}

constexpr float half_value(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7FFF;
  if (magnitude >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  // 2^112 corrects the difference in exponent bias, also for subnormal values.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

/// A 16-bit encoding of an f32.
template <uint16_t (*to_bits)(float), float (*to_value)(uint16_t)>
struct HalfFloat {
  uint16_t bits = 0;

  constexpr HalfFloat() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit constexpr HalfFloat(T value) : bits(to_bits(static_cast<float>(value))) {}
  constexpr operator float() const { return to_value(bits); }
};

}  // namespace detail

/// Element of an f16 tensor: IEEE 754 half precision, 11 significant bits, up to 65504. Values are converted through
/// f32 and rounded to nearest, ties to even; larger ones become infinite.
using Half = detail::HalfFloat<detail::half_bits, detail::half_value>;

/// Element of a bf16 tensor: the upper half of an f32, with 8 significant bits and the same range. Rounds like Half.
using BFloat16 = detail::HalfFloat<bfloat16_bits, bfloat16_value>;

}  // namespace tape
