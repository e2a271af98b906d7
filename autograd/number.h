#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>

#include "dtype.h"

namespace tape {

/// A scalar operand of a tensor operation. Integers stay exact and keep an integer dtype, as in PyTorch: x + 1 has the
/// dtype of x, x + 1.0 a floating one. Converts from any arithmetic type; Error (numeric) for an unsigned value beyond
/// i64.
class Number {
 public:
  /// Any arithmetic value: bool stays bool, integers become i64, floating values f64.
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr Number(T value) {
    if constexpr (std::same_as<T, bool>) {
      dtype_ = DType::boolean;
      whole_ = value ? 1 : 0;
    } else if constexpr (std::integral<T>) {
      if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(int64_t))
        if (value > static_cast<T>(std::numeric_limits<int64_t>::max()))
          raise(ErrorKind::numeric, "number: {} does not fit i64", value);
      dtype_ = DType::i64;
      whole_ = static_cast<int64_t>(value);
    } else {
      dtype_ = DType::f64;
      floating_ = static_cast<double>(value);
    }
  }

  /// boolean, i64 or f64.
  constexpr DType dtype() const { return dtype_; }
  /// The value as a double; rounds integers beyond 2^53.
  constexpr double value() const { return dtype_ == DType::f64 ? floating_ : static_cast<double>(whole_); }

  /// The value converted to a dtype. Floating dtypes round; integer dtypes truncate and throw Error (numeric), such as
  /// `fill_: 300 does not fit u8`, if it is out of range. As an exception, u8 accepts -1 as 255.
  template <class T>
  T to(const char* operation) const {
    if constexpr (std::same_as<T, bool>) {
      return dtype_ == DType::f64 ? floating_ != 0 : whole_ != 0;
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(whole(operation, dtype_of<T>));
    } else {
      return dtype_ == DType::f64 ? static_cast<T>(floating_) : static_cast<T>(whole_);
    }
  }

 private:
  int64_t whole(const char* operation, DType to) const;

  DType dtype_;
  int64_t whole_ = 0;
  double floating_ = 0;
};

/// As in `2`, `0.5` or `true`.
std::string to_string(const Number& number);

}  // namespace tape
