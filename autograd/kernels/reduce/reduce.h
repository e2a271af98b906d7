#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Reductions of x [outer, size, inner] over its middle axis into y [outer, inner].
/// Sums run in fixed blocks (several partial sums, pairwise across blocks), so that the error grows with the logarithm
/// of the size and the bits do not depend on the number of threads.
template <class T>
struct ReduceKernels {
  void (*sum)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// size >= 1. NaN wins. index (of the first best, may be null) is [outer, inner].
  void (*max)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, int64_t* index);
  void (*min)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, int64_t* index);
  /// sum of squares of n values, accumulated in double.
  double (*sum_of_squares)(int64_t n, const T* x);
  /// Whether every value is finite.
  bool (*all_finite)(int64_t n, const T* x);
};
TAPE_KERNEL_TABLE(ReduceKernels, reduce)
}  // namespace tape::kernels
