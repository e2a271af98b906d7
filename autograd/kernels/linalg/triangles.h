#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// A triangular matrix [n, n] whose element (i, j) lies at values[i * row_step + j * column_step].
template <class T>
struct Triangle {
  const T* values = nullptr;
  int64_t n = 0, row_step = 0, column_step = 1;
  bool upper = false;
  bool unit = false;  ///< the diagonal is not read, and taken for ones
};

/// What blocked factorizations and solutions (ops/linalg/triangles.h) are built on, on the thread that calls: small
/// matrices, rows of right sides as long as they are. Every element is computed in one order, whatever stands beside
/// it.
template <class T>
struct TriangleKernels {
  /// a x = b; x replaces b [a.n, columns], rows `stride` apart. A 0 on the diagonal gives infinities and NaN.
  void (*solve)(const Triangle<T>& a, int64_t columns, T* b, int64_t stride);
  /// The upper triangle of a [n, n], rows `stride` apart, becomes U with Uᵀ U = a; what is below is left as it is.
  /// Gives 0, or the order of the first leading minor that is not positive.
  int64_t (*cholesky)(int64_t n, T* a, int64_t stride);
  /// Whether a [n, n] equals its transpose.
  bool (*symmetric)(int64_t n, const T* a);
  /// The upper triangle of a [n, n], transposed, becomes the lower one, with zeros above the diagonal.
  void (*fold_down)(int64_t n, T* a);
  /// P a = L U, in the place of column-major a [m, n], m >= n, columns `stride` apart, with row i exchanged with
  /// pivots[i] - 1 (LAPACK's getrf). Gives 0, or the first pivot, from 1, that is 0.
  int64_t (*lu)(int64_t m, int64_t n, T* a, int64_t stride, int64_t* pivots);
};
TAPE_KERNEL_TABLE(TriangleKernels, triangles)

}  // namespace tape::kernels
