#pragma once

#include <cstdint>
#include <type_traits>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// What the derivative of a function y = f(x) is computed from: what has to be kept for it.
enum class Reads { nothing, x, y };

/// A function of one operand, y = f(x), element by element.
template <class T>
struct UnaryLoops {
  /// y[i] = f(x[i]), for i < n. Reads x, writes y; y may be x.
  void (*forward)(int64_t n, const T* x, T* y);
  /// dx[i] = dy[i] * f'(value[i]), for i < n. `value` is x or y, as UnaryKernel::derivative_reads says. Reads value and
  /// dy, writes dx, which may be either of them. Null where the derivative is made of other operations.
  void (*backward)(int64_t n, const T* value, const T* dy, T* dx);
};

/// One row of the table: a function for both dtypes.
struct UnaryKernel {
  Reads derivative_reads;
  UnaryLoops<float> f32;
  UnaryLoops<double> f64;

  template <class T>
  const UnaryLoops<T>& loops() const {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
    if constexpr (std::is_same_v<T, float>)
      return f32;
    else
      return f64;
  }
};

/// The table of one CPU level, filled in unary.cpp.
struct UnaryKernels {
  UnaryKernel neg, abs, sign, square, reciprocal;
  UnaryKernel exp, log, sqrt, rsqrt, sin, cos, tanh, sigmoid, erf;
  UnaryKernel relu, gelu, gelu_tanh, silu;
  UnaryKernel log1p, log2, log10, expm1, exp2, sinh, cosh, atanh, mish;
  UnaryKernel tan, asin, acos, atan;
  UnaryKernel round, floor, ceil, trunc, frac;
};
TAPE_LEVEL_TABLE(UnaryKernels, unary)

}  // namespace tape::kernels
