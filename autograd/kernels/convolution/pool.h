#pragma once

#include "../runtime/common/isa.h"
#include "window.h"

namespace tape::kernels {

/// Whether places that a border adds count in the divisor of a mean, too.
enum class Border { left_out, counted };

/// One number of each window of planes x [planes, rows.in, columns.in]; y [planes, rows.out, columns.out]. The border
/// is as wide behind an axis as before it. The bits do not depend on the number of threads.
template <class T>
struct PoolKernels {
  /// The largest value of each window, NaN before all, and, unless null, its place in its plane: of equal ones the
  /// first. Every window has a value inside.
  void (*largest)(const Windows& windows, int64_t planes, const T* x, T* y, int64_t* places);
  /// dx: each value of dy added at its place.
  void (*add_at_places)(const Windows& windows, int64_t planes, const int64_t* places, const T* dy, T* dx);
  /// The sum of each window, divided by how many values it has.
  void (*mean)(const Windows& windows, int64_t planes, Border border, const T* x, T* y);
  void (*mean_gradient)(const Windows& windows, int64_t planes, Border border, const T* dy, T* dx);
};
TAPE_KERNEL_TABLE(PoolKernels, pool)

}  // namespace tape::kernels
