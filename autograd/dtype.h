#pragma once

#include <cstdint>
#include <string_view>

#include "../base/error.h"

namespace tape {

/// Element type of a Tensor. f32 and f64 carry gradients; i64 holds indices, boolean holds masks.
enum class DType : uint8_t { f32, f64, i64, boolean };

inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType i64 = DType::i64;
inline constexpr DType boolean = DType::boolean;

std::string_view to_string(DType dtype);

/// Bytes of one element.
constexpr int64_t size_of(DType dtype) { return dtype == DType::f32 ? 4 : dtype == DType::boolean ? 1 : 8; }

constexpr bool is_floating(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

/// The DType of a C++ type: float, double, int64_t or bool.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

/// Calls f(T{}) with T = float or double; an Error naming the operation for other types.
template <class F>
decltype(auto) dispatch_floating(std::string_view operation, DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  raise(ErrorKind::dtype, "{}: needs f32 or f64, got {}", operation, to_string(dtype));
}

/// Calls f(T{}) with T = float, double, int64_t or bool.
template <class F>
decltype(auto) dispatch_all(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i64:
      return f(int64_t{});
    case DType::boolean:
      break;
  }
  return f(bool{});
}

}  // namespace tape
