#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// A function of one operand and two numbers, y = f(x; a, b), element by element.
template <class T>
struct ParametricLoops {
  /// y[i] = f(x[i]; a, b), for i < n. Reads x, writes y; y may be x.
  void (*forward)(int64_t n, double a, double b, const T* x, T* y);
  /// dx[i] = dy[i] * f'(x[i]; a, b), for i < n. Reads x and dy, writes dx, which may be either of them.
  void (*backward)(int64_t n, double a, double b, const T* x, const T* dy, T* dx);
};

template <class T>
struct ParametricKernels {
  ParametricLoops<T> leaky_relu;  ///< x > 0 ? x : a x
  ParametricLoops<T> elu;         ///< x > 0 ? x : a (e^x - 1)
  ParametricLoops<T> softplus;    ///< a x > b ? x : log(1 + e^(a x)) / a
};
TAPE_KERNEL_TABLE(ParametricKernels, parametric)

}  // namespace tape::kernels
