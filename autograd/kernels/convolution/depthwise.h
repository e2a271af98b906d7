#pragma once

#include "../runtime/common/isa.h"
#include "window.h"

namespace tape::kernels {

/// Depthwise convolutions: channel c of x [batch, channels, in] gives channels c * multiplier .. of y [batch, channels
/// * multiplier, out], with weight [channels * multiplier, taps]. Implemented as loops, because matrix products would
/// have only one or a few rows.
struct Depthwise {
  int64_t batch = 0, channels = 0, multiplier = 1;
  Windows windows;
};

template <class T>
struct DepthwiseKernels {
  /// bias may be null.
  void (*forward)(const Depthwise& shape, const T* x, const T* weight, const T* bias, T* y);
  void (*input_gradient)(const Depthwise& shape, const T* weight, const T* dy, T* dx);
  /// Sums within a plane are in T, those over planes in double.
  void (*weight_gradient)(const Depthwise& shape, const T* x, const T* dy, T* dweight);
};
TAPE_CPU_KERNEL_TABLE(DepthwiseKernels, depthwise)

}  // namespace tape::kernels
