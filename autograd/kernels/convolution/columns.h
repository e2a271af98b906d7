#pragma once

#include "../runtime/common/isa.h"
#include "window.h"

namespace tape::kernels {

/// Windows laid out as the columns of a matrix [channels * taps, count], so that convolutions are matrix products:
/// column j holds the values of window first + j of all channels, 0 where it reaches over the border. On the thread
/// that calls.
template <class T>
struct ColumnKernels {
  /// From x [channels, rows.in, columns.in].
  void (*unfold)(const Windows& windows, int64_t channels, const T* x, int64_t first, int64_t count, T* columns);
  /// The reverse: adds each value of the columns to where it comes from, in the order of the taps.
  void (*fold)(const Windows& windows, int64_t channels, const T* columns, int64_t first, int64_t count, T* x);
};
TAPE_KERNEL_TABLE(ColumnKernels, column)

}  // namespace tape::kernels
