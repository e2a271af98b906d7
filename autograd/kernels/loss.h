#pragma once

#include <cstdint>

#include "isa.h"

namespace tape::kernels {

/// Softmax cross-entropy over rows of V logits with whole-number targets:
///   loss_r = (1 - s) * w[t] * (lse - x[t]) + (s / V) * sum_v w[v] * (lse - x[v]),  s = smoothing, w = 1 without
///   weights
/// and 0 where the target equals ignore_index. Targets are checked by the caller.
template <class T>
struct LossKernels {
  /// lse [rows] is the log of the sum of exponentials; loss [rows]. weight [V] may be null.
  void (*cross_entropy)(int64_t rows, int64_t V, const T* logits, const int64_t* target, const T* weight,
                        int64_t ignore_index, T smoothing, T* loss, T* lse);
  /// dlogits = dloss[row] * d loss_r / d logits; rows that are ignored get zeros. dlogits may be logits.
  void (*cross_entropy_backward)(int64_t rows, int64_t V, const T* logits, const int64_t* target, const T* weight,
                                 int64_t ignore_index, T smoothing, const T* lse, const T* dloss, T* dlogits);
};
TAPE_KERNEL_TABLE(LossKernels, loss)
}  // namespace tape::kernels
