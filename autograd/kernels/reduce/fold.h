#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Further reductions of x [outer, size, inner] over its middle axis into y [outer, inner]; see also reduce.h. Bitwise
/// identical for any number of threads.
template <class T>
struct FoldKernels {
  void (*sum_of_abs)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);      ///< |x|
  void (*sum_of_squares)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);  ///< x^2
  /// (x - centre)^2, centre [outer, inner]
  void (*sum_of_squared_deviations)(int64_t outer, int64_t size, int64_t inner, const T* x, const T* centre, T* y);
  /// |x|^p, p above 0
  void (*sum_of_abs_powers)(int64_t outer, int64_t size, int64_t inner, const T* x, double p, T* y);
  void (*nansum)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);  ///< values that are not NaN
  void (*product)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// dx [outer, size, inner] = dy [outer, inner] times the product of the others; also correct for zeros.
  void (*product_backward)(int64_t outer, int64_t size, int64_t inner, const T* x, const T* dy, T* dx);
};
TAPE_KERNEL_TABLE(FoldKernels, fold_axis)

}  // namespace tape::kernels
