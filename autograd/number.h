#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>

#include "dtype.h"

namespace tape {

/// A number beside a tensor: whole numbers stay whole and exact, for PyTorch's dtype of x + 1 is that of x, of x + 1.0
/// a floating one. Made of any arithmetic type; Error (numeric) for an unsigned one beyond i64.
class Number {
 public:
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
  constexpr double value() const { return dtype_ == DType::f64 ? floating_ : static_cast<double>(whole_); }

  /// The number as an element of a tensor. A floating type rounds it; a whole one cuts off what is behind the point and
  /// throws Error (numeric) `fill_: 300 does not fit u8` where it is out of range, only that u8 takes -1 as 255.
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

std::string to_string(const Number& number);

}  // namespace tape
