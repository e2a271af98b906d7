#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Losses and their gradients; null gradients are not computed.
///
/// Softmax cross-entropy over rows of V logits with integer targets:
///   loss_r = (1 - s) * w[t] * (lse - x[t]) + (s / V) * sum_v w[v] * (lse - x[v]),  s = smoothing, w = 1 without
///   weights
/// and 0 where the target equals ignore_index. The caller checks the targets.
template <class T>
struct LossKernels {
  /// lse [rows] is the log-sum-exp; loss [rows]. weight [V] may be null.
  void (*cross_entropy)(int64_t rows, int64_t V, const T* logits, const int64_t* target, const Sum<T>* weight,
                        int64_t ignore_index, double smoothing, Sum<T>* loss, Sum<T>* lse);
  /// dlogits = dloss[row] * d loss_r / d logits; ignored rows get zeros. dlogits may be logits.
  void (*cross_entropy_backward)(int64_t rows, int64_t V, const T* logits, const int64_t* target, const Sum<T>* weight,
                                 int64_t ignore_index, double smoothing, const Sum<T>* lse, const Sum<T>* dloss,
                                 T* dlogits);

  /// *scale = 1 / the number of targets that are not ignore_index, or 0 if there are none.
  void (*mean_scale)(int64_t n, const int64_t* target, int64_t ignore_index, T* scale);

  /// y = scale c (d - c / 2), d = |x - t|, c = min(d, limit).
  void (*huber)(int64_t n, double limit, double scale, const T* x, const T* t, T* y);
  /// dx = dy scale clamp(x - t, -limit, limit), dt = -dx
  void (*huber_backward)(int64_t n, double limit, double scale, const T* x, const T* t, const T* dy, T* dx, T* dt);
  /// y = (1 - t) x + log(1 + e^-x)
  void (*bce_with_logits)(int64_t n, const T* x, const T* t, T* y);
  /// dx = dy (sigmoid(x) - t), dt = -dy x
  void (*bce_with_logits_backward)(int64_t n, const T* x, const T* t, const T* dy, T* dx, T* dt);
};
TAPE_KERNEL_TABLE(LossKernels, loss)

/// Bytes of logits to compute at once. A GPU has more memory, and products of few rows do not fill it: it takes as many
/// rows as there is room for.
inline int64_t logit_bytes(const Target& target) { return int64_t{target.device.is_cpu() ? 16 : 1024} << 20; }
TAPE_BF16_TABLE(LossKernels, loss)  // cross_entropy only
}  // namespace tape::kernels
