#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "../base/error.h"
#include "../base/half.h"

namespace tape {

/// Element type of a Tensor, in promotion order. f32 and f64 are compute types; i64 holds indices and boolean holds
/// masks. f16, bf16, i32 and u8 are storage types, which can be copied, sliced, compared, printed, saved and loaded as
/// they are. Arithmetic on f16 and bf16 is done in f32 and rounded; arithmetic on i32 and u8 is done in i64 and wraps.
/// All four floating types carry gradients, each in its own dtype.
enum class DType : uint8_t { boolean, u8, i32, i64, f16, bf16, f32, f64 };

/// Short names: zeros({2, 3}, f64).
/// @{
inline constexpr DType boolean = DType::boolean;
inline constexpr DType u8 = DType::u8;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
/// @}

/// The name as in DType; "bool" for boolean.
/// @{
std::string_view to_string(DType dtype);
std::ostream& operator<<(std::ostream& stream, DType dtype);
/// @}

/// Size of one element in bytes.
constexpr int64_t size_of(DType dtype) {
  constexpr int64_t bytes[] = {1, 1, 4, 8, 2, 2, 4, 8};
  return bytes[static_cast<int>(dtype)];
}

/// Whether the dtype is f16, bf16, f32 or f64, the types that carry gradients.
constexpr bool is_floating(DType dtype) { return dtype >= DType::f16; }
/// Whether the dtype is u8, i32 or i64.
constexpr bool is_integral(DType dtype) { return dtype >= DType::u8 && dtype <= DType::i64; }
/// Whether the dtype is f32 or f64, the floating types that kernels are written for.
constexpr bool is_f32_or_f64(DType dtype) { return dtype >= DType::f32; }
/// Whether the dtype is f16 or bf16.
constexpr bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// The dtype that operations compute in: f32 for f16 and bf16, i64 for bool, u8 and i32, else the dtype itself.
constexpr DType compute_dtype(DType dtype) {
  if (!is_floating(dtype)) return DType::i64;
  return is_half(dtype) ? DType::f32 : dtype;
}

/// Common dtype of two operands (torch.promote_types): the later of bool, u8, i32, i64, f16 or bf16, f32, f64. f16 with
/// bf16 gives f32, since neither can represent the other.
constexpr DType promote_types(DType a, DType b) {
  if (a != b && is_half(a) && is_half(b)) return DType::f32;
  return a < b ? b : a;
}

/// The DType of a C++ type: float, double, Half, BFloat16, int64_t, int32_t, uint8_t or bool.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct DTypeOf<Half> : std::integral_constant<DType, DType::f16> {};
template <>
struct DTypeOf<BFloat16> : std::integral_constant<DType, DType::bf16> {};
template <>
struct DTypeOf<int64_t> : std::integral_constant<DType, DType::i64> {};
template <>
struct DTypeOf<int32_t> : std::integral_constant<DType, DType::i32> {};
template <>
struct DTypeOf<uint8_t> : std::integral_constant<DType, DType::u8> {};
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::boolean> {};
/// The same as a value: dtype_of<float> is f32.
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

/// Calls f(T{}) with T = float or double. Throws Error (dtype) naming the operation for other dtypes.
template <class F>
decltype(auto) dispatch_floating(const char* operation, DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  raise(ErrorKind::dtype, "{}: needs f32 or f64, got {}", operation, to_string(dtype));
}

/// The same, and with T = BFloat16 except for WebAssembly, which has no kernels for it.
template <class F>
decltype(auto) dispatch_with_bf16(const char* operation, DType dtype, F&& f) {
#if !defined(__wasm__)
  if (dtype == DType::bf16) return f(BFloat16{});
#endif
  return dispatch_floating(operation, dtype, f);
}

/// Calls f(T{}) with the C++ type of any dtype.
template <class F>
decltype(auto) dispatch_all(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::i64:
      return f(int64_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::u8:
      return f(uint8_t{});
    case DType::boolean:
      break;
  }
  return f(bool{});
}

}  // namespace tape
