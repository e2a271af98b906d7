#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// y = (x - mean) * rstd * weight + bias over rows of cols values, rstd = 1 / sqrt(var + eps), var biased.
template <class T>
struct NormKernels {
  /// weight and bias may be null; mean and rstd are [rows].
  void (*layer_norm)(int64_t rows, int64_t cols, const T* x, const T* weight, const T* bias, double eps, T* y,
                     Sum<T>* mean, Sum<T>* rstd);
  /// dx, dweight, dbias: each may be null when not wanted; weight may be null. dweight and dbias are overwritten.
  void (*layer_norm_backward)(int64_t rows, int64_t cols, const T* x, const T* weight, const Sum<T>* mean,
                              const Sum<T>* rstd, const T* dy, T* dx, Sum<T>* dweight, Sum<T>* dbias);
  /// y = x * rstd * weight, rstd = 1 / sqrt(mean(x^2) + eps): the same without centering and without a bias.
  void (*rms_norm)(int64_t rows, int64_t cols, const T* x, const T* weight, double eps, T* y, Sum<T>* rstd);
  void (*rms_norm_backward)(int64_t rows, int64_t cols, const T* x, const T* weight, const Sum<T>* rstd, const T* dy,
                            T* dx, Sum<T>* dweight);
};
TAPE_KERNEL_TABLE(NormKernels, norm)
}  // namespace tape::kernels
