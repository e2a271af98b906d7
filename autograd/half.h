#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "../base/bfloat16.h"

namespace tape {
namespace detail {

/// The 16 bits of IEEE 754 half precision (1 sign, 5 exponent, 10 fraction) nearest to a value, of two the even one;
/// infinity from 65520 on.
constexpr uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) {
    // Below 2^-14 a half is a multiple of 2^-24, as is an f32 between 1/2 and 1: the sum rounds it there.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3F000000));
  }
  const uint32_t odd = magnitude >> 13 & 1;  // a tie goes to the even one
  return static_cast<uint16_t>(sign | (magnitude + 0xFFF + odd - 0x38000000) >> 13);
}

constexpr float half_value(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7FFF;
  if (magnitude >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  // 2^112 makes up for the difference of the exponents' bias, subnormal numbers included.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

/// 16 bits that stand for an f32.
template <uint16_t (*to_bits)(float), float (*to_value)(uint16_t)>
struct SixteenBits {
  uint16_t bits = 0;

  constexpr SixteenBits() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit constexpr SixteenBits(T value) : bits(to_bits(static_cast<float>(value))) {}
  constexpr operator float() const { return to_value(bits); }
};

}  // namespace detail

/// An element of an f16 tensor: IEEE 754 half precision, 11 significant bits, up to 65504. A number becomes one through
/// f32, rounded to the nearest, of two the even one; what is larger becomes infinite.
using Half = detail::SixteenBits<detail::half_bits, detail::half_value>;

/// An element of a bf16 tensor: the upper half of an f32, 8 significant bits of the same range. Rounded as Half.
using BFloat16 = detail::SixteenBits<bfloat16_bits, bfloat16_value>;

}  // namespace tape
