#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;                             // AdamW (Loshchilov and Hutter 2019): decay the weight, not the gradient
  double bias_correction1, bias_correction2;  // 1 - beta^t
  double gradient_scale;                      // clipping, folded in
};
struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov;
  bool first;  // the momentum buffer is started with the gradient itself
  double gradient_scale;
};

/// The n values of a parameter and what belongs to them.
template <class T>
struct AdamUpdate {
  AdamStep step;
  int64_t n;
  const T* gradient;
  T *parameter, *m, *v;
};

template <class T>
struct OptimizerKernels {
  /// One pass over all values of `count` parameters, shared among the threads once for all. The arithmetic order is
  /// PyTorch's: m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p -= lr / c1 * m / (sqrt(v) / sqrt(c2) + eps).
  void (*adam)(int64_t count, const AdamUpdate<T>* updates);
  /// buffer may be null where momentum is 0.
  void (*sgd)(int64_t n, const SgdStep& step, const T* gradient, T* parameter, T* buffer);
};
TAPE_KERNEL_TABLE(OptimizerKernels, optimizer)
}  // namespace tape::kernels
