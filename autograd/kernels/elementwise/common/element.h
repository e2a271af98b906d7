#pragma once

#include <stdint.h>

#include <type_traits>

#include "../../../../base/half.h"

namespace tape::kernels {

/// The dtypes of tensors, in their order.
enum class Element : uint8_t { boolean, u8, i32, i64, f16, bf16, f32, f64 };

/// Calls f(T{}) with the C++ type of an element.
template <class F>
constexpr void with_element(Element element, F&& f) {
  switch (element) {
    case Element::boolean:
      return f(bool{});
    case Element::u8:
      return f(uint8_t{});
    case Element::i32:
      return f(int32_t{});
    case Element::i64:
      return f(int64_t{});
    case Element::f16:
      return f(Half{});
    case Element::bf16:
      return f(BFloat16{});
    case Element::f32:
      return f(float{});
    case Element::f64:
      return f(double{});
  }
}

/// The value as f32 if it is a half, else itself.
template <class T>
constexpr auto widened(T value) {
  if constexpr (std::is_class_v<T>)
    return static_cast<float>(value);
  else
    return value;
}

/// Whether some values of the first type have no value in the second.
template <class From, class To>
inline constexpr bool may_not_fit = !std::is_integral_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>;

/// Whether the integral part of a floating-point value fits an integer type; false for NaN.
template <class To, class From>
constexpr bool fits(From x) {
  const auto value = static_cast<double>(widened(x));
  // For i32 and u8, the values one past each end are exact doubles; for i64, both ends are.
  if constexpr (std::is_same_v<To, int64_t>) return value >= -0x1p63 && value < 0x1p63;
  if constexpr (std::is_same_v<To, int32_t>) return value > -0x1p31 - 1 && value < 0x1p31;
  return value > -1 && value < 256;
}

/// The value in another type: rounded to a narrower floating-point type, truncated to an integer, 0 if it does not fit.
template <class To, class From>
constexpr To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) return widened(x) != 0;
  if constexpr (may_not_fit<From, To>)
    if (!fits<To>(x)) return 0;
  return static_cast<To>(widened(x));
}

}  // namespace tape::kernels
