#pragma once

#include "../runtime/common/isa.h"
#include "window.h"

namespace tape::kernels {

/// im2col and col2im: windows as the columns of a matrix [channels * taps, count], so that convolutions become matrix
/// products. Column j holds the values of window first + j of all channels, with 0 outside the image. Single-threaded.
template <class T>
struct ColumnKernels {
  /// Reads x [channels, rows.in, columns.in].
  void (*unfold)(const Windows& windows, int64_t channels, const T* x, int64_t first, int64_t count, T* columns);
  /// col2im: adds each value of the columns to the element of x it came from, in the order of the taps.
  void (*fold)(const Windows& windows, int64_t channels, const T* columns, int64_t first, int64_t count, T* x);
};
TAPE_KERNEL_TABLE(ColumnKernels, column)

}  // namespace tape::kernels
