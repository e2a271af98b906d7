#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Along the middle axis of [outer, size, inner]. A line of only -inf gives zeros (softmax) or -inf (log_softmax),
/// never NaN; a line with a NaN gives NaN.
template <class T>
struct SoftmaxKernels {
  void (*softmax)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// dx = y * (dy - sum(dy * y))
  void (*softmax_backward)(int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx);
  void (*log_softmax)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// dx = dy - exp(y) * sum(dy)
  void (*log_softmax_backward)(int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx);
};
TAPE_KERNEL_TABLE(SoftmaxKernels, softmax)
}  // namespace tape::kernels
