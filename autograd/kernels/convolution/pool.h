#pragma once

#include "../runtime/common/isa.h"
#include "window.h"

namespace tape::kernels {

/// Whether padding counts in the divisor of a mean.
enum class Border { left_out, counted };

/// Pooling of planes x [planes, rows.in, columns.in] to y [planes, rows.out, columns.out], with the same padding on
/// both sides of an axis. Bitwise identical for any number of threads.
template <class T>
struct PoolKernels {
  /// The maximum of each window (NaN if it has one) and, unless null, its index in the plane; the first of equal
  /// values. Every window must contain a value.
  void (*largest)(const Windows& windows, int64_t planes, const T* x, T* y, int64_t* places);
  /// dx: adds each value of dy at its index.
  void (*scatter_add_at)(const Windows& windows, int64_t planes, const int64_t* places, const T* dy, T* dx);
  /// The sum of each window, divided by its number of values.
  void (*mean)(const Windows& windows, int64_t planes, Border border, const T* x, T* y);
  void (*mean_gradient)(const Windows& windows, int64_t planes, Border border, const T* dy, T* dx);
};
TAPE_KERNEL_TABLE(PoolKernels, pool)

}  // namespace tape::kernels
