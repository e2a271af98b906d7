#pragma once

#include <cstdint>

#include "../random/random.h"
#include "../runtime/common/isa.h"

namespace tape::kernels {

/// y = (x - mean) * rstd * weight + bias over rows of cols values, rstd = 1 / sqrt(var + eps), var biased.
template <class T>
struct NormKernels {
  /// weight and bias may be null; mean and rstd are [rows].
  void (*layer_norm)(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* bias, double eps, T* y,
                     Sum<T>* mean, Sum<T>* rstd);
  /// Overwrites dx, dweight and dbias; null ones are not computed. weight may be null, and `added`, which is added to
  /// dx and may be the same memory.
  void (*layer_norm_backward)(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* mean,
                              const Sum<T>* rstd, const T* dy, const T* added, T* dx, Sum<T>* dweight, Sum<T>* dbias);
  /// RMS norm: y = x * rstd * weight, rstd = 1 / sqrt(mean(x^2) + eps).
  void (*rms_norm)(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, double eps, T* y, Sum<T>* rstd);
  void (*rms_norm_backward)(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* rstd,
                            const T* dy, const T* added, T* dx, Sum<T>* dweight);

  // The same of sums that are computed late (ops/deferred/dropped_sum.h), and written too; null where none are. The
  // backward pass also writes the gradient of b, dropout(dx).
  void (*layer_norm_of_sum)(int64_t rows, int64_t cols, const DroppedSum<T>& x, const Sum<T>* weight,
                            const Sum<T>* bias, double eps, T* y, Sum<T>* mean, Sum<T>* rstd) = nullptr;
  void (*layer_norm_of_sum_backward)(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* mean,
                                     const Sum<T>* rstd, const T* dy, const T* added, T* dx, Sum<T>* dweight,
                                     Sum<T>* dbias, const Dropout& dropout, T* db) = nullptr;
  void (*rms_norm_of_sum)(int64_t rows, int64_t cols, const DroppedSum<T>& x, const Sum<T>* weight, double eps, T* y,
                          Sum<T>* rstd) = nullptr;
  void (*rms_norm_of_sum_backward)(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* rstd,
                                   const T* dy, const T* added, T* dx, Sum<T>* dweight, const Dropout& dropout,
                                   T* db) = nullptr;
};
TAPE_KERNEL_TABLE(NormKernels, norm)
TAPE_BF16_TABLE(NormKernels, norm)
}  // namespace tape::kernels
