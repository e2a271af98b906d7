#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Up to so many rows and columns.
inline constexpr int64_t kMostInLanes = 8;

/// Batches of small matrices, each in a lane of the vectors, so that as many are computed at once as a vector has
/// lanes. On the thread that calls; matrices lie one after the other and have the same bits wherever they stand in a
/// batch, those that TriangleKernels gives (triangles.h).
template <class T>
struct MatrixLanes {
  /// Symmetric a [count, n, n] becomes L with L Lᵀ = a, with zeros above its diagonal. info [count]: 0, or the order of
  /// the first leading minor that is not positive.
  void (*cholesky)(int64_t count, int64_t n, T* a, int* info);
  /// P a = L U of column-major a [count, n, n], pivots [count, n] and info [count] as TriangleKernels::lu().
  void (*lu)(int64_t count, int64_t n, T* a, int64_t* pivots, int* info);
  /// The x with aᵀ x = b, or a x = b where `transposed`, in the place of row-major b [count, n, columns], columns up to
  /// kMostInLanes; `factors` and `pivots` are lu()'s, those of matrix from[i] for b number i.
  void (*lu_solve)(int64_t count, int64_t n, int64_t columns, const T* factors, const int64_t* pivots,
                   const int64_t* from, bool transposed, T* b);
  /// The singular values [count, columns], descending, of column-major a [count, rows, columns], rows >= columns. info
  /// [count]: 0, or 1 where they did not converge.
  void (*singular_values)(int64_t count, int64_t rows, int64_t columns, const T* a, T* values, int* info);
};
TAPE_KERNEL_TABLE(MatrixLanes, matrix_lanes)

}  // namespace tape::kernels
