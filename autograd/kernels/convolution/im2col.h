#pragma once

#include "../runtime/common/isa.h"
#include "window.h"

namespace tape::kernels {

/// im2col and col2im: windows as the columns of a matrix [channels * taps, count], so that convolutions become matrix
/// products. Column j holds the values of window first + j of all channels, with 0 outside the image. Single-threaded.
template <class T>
struct Im2colKernels {
  /// Reads x [channels, rows.in, columns.in].
  void (*im2col)(const Windows& windows, int64_t channels, const T* x, int64_t first, int64_t count, T* columns);
  /// Adds each value of the columns to the element of x it came from, in the order of the taps.
  void (*col2im)(const Windows& windows, int64_t channels, const T* columns, int64_t first, int64_t count, T* x);
};
TAPE_CPU_KERNEL_TABLE(Im2colKernels, im2col)

}  // namespace tape::kernels
