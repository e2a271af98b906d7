#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// What is known of all gradients together. An update reads it when it runs, from where it was computed.
struct GradientState {
  const double* scale = nullptr;  ///< every gradient counts times this, as clipping wants it; null: as it is
  const bool* finite = nullptr;   ///< false: nothing is changed; null: true
};

/// The settings of one step, for a group of parameters.
struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;                             // AdamW (Loshchilov and Hutter 2019): decay the weight, not the gradient
  double bias_correction1, bias_correction2;  // 1 - beta^t
  bool operator==(const AdamStep&) const = default;
};
struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov;
  bool first;  // the momentum buffer is started with the gradient itself
  bool operator==(const SgdStep&) const = default;
};

/// The n values of a parameter, the number of its group, and what belongs to them.
template <class T>
struct AdamUpdate {
  int64_t group, n;
  const T* gradient;
  T *parameter, *m, *v;
};
template <class T>
struct SgdUpdate {
  int64_t group, n;
  const T* gradient;
  T *parameter, *buffer;  // buffer may be null where momentum is 0
};

/// One pass over all values of `count` parameters, shared among the threads once for all.
template <class T>
struct OptimizerKernels {
  /// The arithmetic order is PyTorch's: m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
  /// p -= lr / c1 * m / (sqrt(v) / sqrt(c2) + eps).
  void (*adam)(const GradientState& gradients, int64_t groups, const AdamStep* steps, int64_t count,
               const AdamUpdate<T>* updates);
  void (*sgd)(const GradientState& gradients, int64_t groups, const SgdStep* steps, int64_t count,
              const SgdUpdate<T>* updates);
};
TAPE_KERNEL_TABLE(OptimizerKernels, optimizer)
}  // namespace tape::kernels
