#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// n consecutive values.
template <class T>
struct Span {
  const T* values;
  int64_t n;
};

/// Reductions of x [outer, size, inner] over its middle axis into y [outer, inner].
/// Sums are computed in fixed blocks (several partial sums, pairwise across blocks), so that the error grows with the
/// logarithm of the size and results are bitwise identical for any number of threads.
template <class T>
struct ReduceKernels {
  void (*sum)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// size >= 1. NaN propagates. index [outer, inner] (may be null) is that of the first best value.
  void (*max)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, int64_t* index);
  void (*min)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, int64_t* index);
  /// *result = the sum of squares of all values of `count` spans, in double within each span, added in order.
  void (*sum_of_squares)(int64_t count, const Span<T>* spans, double* result);
  /// *first = the index of the first of `count` spans that contains NaN or infinity, or -1.
  void (*first_not_finite)(int64_t count, const Span<T>* spans, int64_t* first);
};
TAPE_KERNEL_TABLE(ReduceKernels, reduce)
}  // namespace tape::kernels
