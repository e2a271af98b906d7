#pragma once

#include <cstdint>

#include "../runtime/common/finding.h"
#include "../runtime/common/isa.h"
#include "step_report.h"

namespace tape::kernels {

/// Properties of all gradients together, computed elsewhere and read when an update runs.
struct GradientState {
  const double* scale = nullptr;    ///< multiplies every gradient, as in clipping; null means 1
  const Finding* failed = nullptr;  ///< if a check has failed, nothing is updated; null means none has
};

/// Settings of one step for a parameter group.
struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;                             // AdamW (Loshchilov and Hutter 2019): decay the weight, not the gradient
  double bias_correction1, bias_correction2;  // 1 - beta^t
  bool operator==(const AdamStep&) const = default;
};
struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov;
  bool first;  // initialize the momentum buffer with the gradient
  bool operator==(const SgdStep&) const = default;
};

/// The n values of a parameter with their gradient and state, and the index of its group.
template <class T>
struct AdamUpdate {
  int64_t group, n;
  const T* gradient;
  T *parameter, *m, *v;
  BFloat16* rounded = nullptr;  ///< on a GPU, if not null: receives the parameter in bf16
};
template <class T>
struct SgdUpdate {
  int64_t group, n;
  const T* gradient;
  T *parameter, *buffer;  // buffer may be null if momentum is 0
};
/// n values to be scaled.
template <class T>
struct ScaleUpdate {
  int64_t n;
  T* values;
};
/// As AdamUpdate<float>, with running means in bf16. The bits that round those of value i are random_bits(key + i).
struct Bf16AdamUpdate {
  int64_t group, n;
  const float* gradient;
  float* parameter;
  uint16_t *m, *v;
  uint64_t key;
  BFloat16* rounded = nullptr;
};

/// One pass over all values of `count` parameters, distributed over the threads at once.
template <class T>
struct OptimizerKernels {
  /// Same order of arithmetic as PyTorch: m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
  /// p -= lr / c1 * m / (sqrt(v) / sqrt(c2) + eps).
  void (*adam)(const GradientState& gradients, int64_t groups, const AdamStep* steps, int64_t count,
               const AdamUpdate<T>* updates);
  void (*sgd)(const GradientState& gradients, int64_t groups, const SgdStep* steps, int64_t count,
              const SgdUpdate<T>* updates);
  /// Multiplies all values by a factor.
  void (*scale)(double factor, int64_t count, const ScaleUpdate<T>* updates);
  /// norm = mean sqrt(squares); scale = mean min(1, max_norm / (norm + 1e-6)), or mean without clipping. The finding
  /// becomes one of the check if the squares or a loss are not finite and it is still empty.
  void (*report)(const StepReport<T>& of);
};
TAPE_KERNEL_TABLE(OptimizerKernels, optimizer)

struct Bf16OptimizerKernels {
  /// As OptimizerKernels<float>::adam. m and v are rounded at random (random_rounding.h), so that changes below the
  /// resolution of bf16 accumulate on average.
  void (*adam)(const GradientState& gradients, int64_t groups, const AdamStep* steps, int64_t count,
               const Bf16AdamUpdate* updates);
};
TAPE_LEVEL_TABLE(Bf16OptimizerKernels, bf16_optimizer)
TAPE_DEVICE_TABLE(Bf16OptimizerKernels, bf16_optimizer)
}  // namespace tape::kernels
