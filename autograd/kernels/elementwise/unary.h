#pragma once

#include <cstdint>
#include <type_traits>

#include "../random/random.h"
#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Which value the derivative of y = f(x) is computed from, and must therefore be saved.
enum class Reads { nothing, x, y };

/// An elementwise function y = f(x).
template <class T>
struct UnaryLoops {
  /// y[i] = f(x[i]), for i < n. y may be x.
  void (*forward)(int64_t n, const T* x, T* y);
  /// dx[i] = dy[i] * f'(value[i]), for i < n. `value` is x or y, as given by UnaryKernel::derivative_reads. dx may be
  /// value or dy. Null if the derivative is composed of other operations.
  void (*backward)(int64_t n, const T* value, const T* dy, T* dx);
  /// The same of dy = dropout(dz), which is computed late (ops/deferred/dropped_sum.h); null where none is. dx may be
  /// value or dz.
  void (*backward_dropped)(int64_t n, const T* value, const T* dz, const Dropout& dropout, T* dx) = nullptr;
};

/// One row of the table: a function for all dtypes, for bf16 on CUDA only.
struct UnaryKernel {
  Reads derivative_reads;
  UnaryLoops<float> f32;
  UnaryLoops<double> f64;
  UnaryLoops<BFloat16> bf16 = {};

  template <class T>
  const UnaryLoops<T>& loops() const {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, BFloat16>);
    if constexpr (std::is_same_v<T, float>)
      return f32;
    else if constexpr (std::is_same_v<T, BFloat16>)
      return bf16;
    else
      return f64;
  }
};

/// The table of one CPU level, defined in unary.cpp.
struct UnaryKernels {
  UnaryKernel neg, abs, sign, square, reciprocal;
  UnaryKernel exp, log, sqrt, rsqrt, sin, cos, tanh, sigmoid, erf;
  UnaryKernel relu, gelu, gelu_tanh, silu;
  UnaryKernel log1p, log2, log10, expm1, exp2, sinh, cosh, atanh, mish;
  UnaryKernel tan, asin, acos, atan;
  UnaryKernel round, floor, ceil, trunc, frac;
};
TAPE_LEVEL_TABLE(UnaryKernels, unary)
TAPE_DEVICE_TABLE(UnaryKernels, unary)

}  // namespace tape::kernels
