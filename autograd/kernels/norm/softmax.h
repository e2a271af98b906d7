#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Rows of cols values. A row of nothing but -inf gives zeros (softmax) or -inf (log_softmax), never NaN.
template <class T>
struct SoftmaxKernels {
  void (*softmax)(int64_t rows, int64_t cols, const T* x, T* y);
  /// dx = y * (dy - sum(dy * y))
  void (*softmax_backward)(int64_t rows, int64_t cols, const T* y, const T* dy, T* dx);
  void (*log_softmax)(int64_t rows, int64_t cols, const T* x, T* y);
  /// dx = dy - exp(y) * sum(dy)
  void (*log_softmax_backward)(int64_t rows, int64_t cols, const T* y, const T* dy, T* dx);
};
TAPE_KERNEL_TABLE(SoftmaxKernels, softmax)
}  // namespace tape::kernels
