#pragma once

#include <stdint.h>

#include "../runtime/common/finding.h"

namespace tape::kernels {

/// What the host wants to know about a step of training, computed where the gradients are.
template <class T>
struct StepReport {
  static constexpr int64_t kMostLosses = 128;
  /// Values of the report: the norm of the gradients, the factor on every gradient, a finding, and the losses.
  static constexpr int64_t kNorm = 0, kScale = 1, kCheck = 2, kPosition = 3, kValue = 4, kLosses = 5;

  double mean, max_norm;  // factor of the gradients before clipping, and bound of their norm after it; 0: no clipping
  const double* squares;  // sum of the squares of all gradients
  int64_t count;          // of losses
  const T* losses[kMostLosses];
  int64_t check;     // number of the check for NaN and infinity
  Finding* finding;  // of all checks
  double* report;
};

}  // namespace tape::kernels
