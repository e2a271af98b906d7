#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Reductions and conversions of values exchanged between processes. bf16 are the upper 16 bits of a float.
struct CollectiveKernels {
  /// y[i] = ((x0[i] + x1[i]) + x2[i]) + ..., with `blocks` blocks of n values `stride` apart; always in this order,
  /// whatever n and the number of threads. y may be x.
  void (*sum_f32)(int64_t n, int64_t blocks, int64_t stride, const float* x, float* y);
  void (*sum_f64)(int64_t n, int64_t blocks, int64_t stride, const double* x, double* y);
  /// The sum in f32, rounded once.
  void (*sum_bf16)(int64_t n, int64_t blocks, int64_t stride, const uint16_t* x, uint16_t* y);
  /// To nearest, ties to even; NaN stays NaN.
  void (*to_bf16)(int64_t n, const float* x, uint16_t* y);
  void (*from_bf16)(int64_t n, const uint16_t* x, float* y);
};
TAPE_LEVEL_TABLE(CollectiveKernels, exchange)
}  // namespace tape::kernels
