#pragma once

#include "../../kernels/linalg/triangles.h"

namespace tape::linalg {

// Triangular matrices and factorizations of any size in halves, whose products are ours and shared among threads
// (kernels/product/common/gemm.h); small ones are the kernels'. A matrix has the same bits for any number of threads. T
// is float or double.

/// Up to so many rows the kernels' loops are faster than products and LAPACK.
inline constexpr int64_t kSmallTriangle = 32;

/// a x = b; x replaces b [a.n, columns], rows `stride` apart. Either step of a is 1. A 0 on the diagonal gives
/// infinities and NaN.
template <class T>
void solve_triangle(const kernels::Triangle<T>& a, int64_t columns, T* b, int64_t stride);

/// The upper triangle of a [n, n] becomes U with Uᵀ U = a; what is below is left as it is or overwritten. Gives 0, or
/// the order of the first leading minor that is not positive.
template <class T>
int64_t factor_cholesky(int64_t n, T* a);

/// P a = L U in the place of column-major a [n, n], with row i exchanged with pivots[i] - 1, as LAPACK's getrf. Gives
/// 0, or the first pivot, from 1, that is 0.
template <class T>
int64_t factor_lu(int64_t n, T* a, int64_t* pivots);

}  // namespace tape::linalg
