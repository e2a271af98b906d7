#pragma once

#include <cstdint>

#include "../random/random.h"
#include "../runtime/common/isa.h"

namespace tape::kernels {

/// What else a backward pass writes if it is not null.
template <class T>
struct NormGradients {
  Dropout dropout = {};
  T* dropped = nullptr;    ///< dropout(dx), the gradient of what was dropped in a sum
  Sum<T>* sums = nullptr;  ///< [parts, 2, cols], the gradients of weight and bias, summed over parts of the rows
};
/// The gradients of a norm's weight and bias, which are the totals of such sums. Either may be null.
template <class S>
struct NormTotals {
  const S* sums;
  S *dweight, *dbias;
};
/// Most of them in one launch.
inline constexpr int kMostNormTotals = 64;

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

  // Calls of which a part is computed late (ops/deferred/); null where none is.
  /// A norm of a sum, which is written too.
  void (*layer_norm_of_sum)(int64_t rows, int64_t cols, const DroppedSum<T>& x, const Sum<T>* weight,
                            const Sum<T>* bias, double eps, T* y, Sum<T>* mean, Sum<T>* rstd) = nullptr;
  void (*rms_norm_of_sum)(int64_t rows, int64_t cols, const DroppedSum<T>& x, const Sum<T>* weight, double eps, T* y,
                          Sum<T>* rstd) = nullptr;
  /// A backward pass without the totals of the gradients of weight and bias.
  void (*layer_norm_backward_in_parts)(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* mean,
                                       const Sum<T>* rstd, const T* dy, const T* added, T* dx,
                                       const NormGradients<T>& more) = nullptr;
  void (*rms_norm_backward_in_parts)(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* rstd,
                                     const T* dy, const T* added, T* dx, const NormGradients<T>& more) = nullptr;
  /// Number of parts of the rows over which that sums.
  int64_t (*parts)(int64_t rows, int64_t cols) = nullptr;
  /// The totals of norms of the same size, at most kMostNormTotals.
  void (*totals)(int64_t parts, int64_t cols, int64_t count, const NormTotals<Sum<T>>* of) = nullptr;
};
TAPE_KERNEL_TABLE(NormKernels, norm)
TAPE_BF16_TABLE(NormKernels, norm)
}  // namespace tape::kernels
