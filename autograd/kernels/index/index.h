#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

// The caller checks the indices (take().check_index()). x is always [outer, size, inner].

template <class T>
struct IndexKernels {
  /// x[o, index[c], i] += y[o, c, i]; repeated indices are summed in order c = 0, 1, ... for every thread count.
  void (*add_at)(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y);
  /// sums = x (may be the same memory), then sums[o, index[o, c, i], i] += y[o, c, i].
  void (*scatter_add)(int64_t outer, int64_t size, int64_t inner, const T* x, T* sums, int64_t count,
                      const int64_t* index, const T* y);
  /// x[o, index[o, c, i], i] *= y[o, c, i].
  void (*scatter_mul)(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index,
                      const T* y);
  /// x[o, index[o, c, i], i] becomes y[o, c, i] if that is larger (or smaller) or NaN.
  void (*scatter_extremum)(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index,
                           const T* y, bool largest);
  /// Stable sort along the middle axis; NaN last in both orders. values and index are [outer, size, inner].
  void (*sort)(int64_t outer, int64_t size, int64_t inner, const T* x, bool descending, T* values, int64_t* index);
  /// The k best in order (ties: lower index first); values and index are [outer, k, inner].
  void (*topk)(int64_t outer, int64_t size, int64_t inner, const T* x, int64_t k, bool largest, T* values,
               int64_t* index);
  /// The median of each line (the lower one for an even count), values [outer, inner], and the index of its first
  /// occurrence; NaN if the line has one. size >= 1.
  void (*median)(int64_t outer, int64_t size, int64_t inner, const T* x, T* values, int64_t* index);
  /// Copies rows x cols matrices, zero where col - row > diagonal (lower) or col - row < diagonal (upper).
  void (*triangle)(int64_t batch, int64_t rows, int64_t cols, int64_t diagonal, bool lower, const T* x, T* y);
};
TAPE_KERNEL_TABLE(IndexKernels, index)
}  // namespace tape::kernels
