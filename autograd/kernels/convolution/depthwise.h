#pragma once

#include "../runtime/common/isa.h"
#include "window.h"

namespace tape::kernels {

/// Convolutions whose groups have one input channel each: channel c of x [batch, channels, in] gives the channels
/// c * multiplier .. of y [batch, channels * multiplier, out], by weight [channels * multiplier, taps]. Written out as
/// loops, because their matrix products would have a single row or few.
struct Depthwise {
  int64_t batch = 0, channels = 0, multiplier = 1;
  Windows windows;
};

template <class T>
struct DepthwiseKernels {
  /// bias may be null.
  void (*forward)(const Depthwise& shape, const T* x, const T* weight, const T* bias, T* y);
  void (*input_gradient)(const Depthwise& shape, const T* weight, const T* dy, T* dx);
  /// Sums of one plane at a time in T, those of planes in double.
  void (*weight_gradient)(const Depthwise& shape, const T* x, const T* dy, T* dweight);
};
TAPE_KERNEL_TABLE(DepthwiseKernels, depthwise)

}  // namespace tape::kernels
