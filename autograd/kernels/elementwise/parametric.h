#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// An elementwise function with two parameters, y = f(x; a, b).
template <class T>
struct ParametricLoops {
  /// y[i] = f(x[i]; a, b), for i < n. y may be x.
  void (*forward)(int64_t n, double a, double b, const T* x, T* y);
  /// dx[i] = dy[i] * f'(x[i]; a, b), for i < n. dx may be x or dy.
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
