#pragma once

#include <cstdint>

namespace tape::linalg {

// LAPACK on one matrix, by xtensor-blas: xt::lapack, on which xt::linalg stands, which would copy each matrix and hide
// where it failed. Matrices are column-major, without gaps between columns, and are overwritten; a row-major matrix is
// its transpose. None may be empty. Each returns LAPACK's info: 0, or the step (from 1) that failed.

/// P a = L U, with row i exchanged with pivots[i] - 1.
template <class T>
int getrf(int64_t n, T* a, int* pivots);
/// The inverse from what getrf gave, in its place.
template <class T>
int getri(int64_t n, T* lu, const int* pivots);
/// a [m, n] = Q R, R in the upper triangle, Q as reflectors below it and in tau [min(m, n)].
template <class T>
int geqrf(int64_t m, int64_t n, T* a, T* tau);
/// The first `columns` columns of Q in a [m, columns], whose first `reflectors` columns are geqrf's.
template <class T>
int orgqr(int64_t m, int64_t columns, int64_t reflectors, T* a, T* tau);
/// a [m, n] = u diag(s) vt; job 'A' all columns of u and rows of vt, 'S' min(m, n) of them, 'N' none.
template <class T>
int gesdd(char job, int64_t m, int64_t n, T* a, T* s, T* u, T* vt);
/// a = V diag(w) Vᵀ of a symmetric one, w ascending, V in place of a; job 'V', or 'N' for w alone.
template <class T>
int syevd(char job, char uplo, int64_t n, T* a, T* w);
/// The x of least norm that minimizes |a x - b|; b [max(m, n), columns] becomes x. Singular values s [min(m, n)] at
/// most rcond s[0] are taken for 0.
template <class T>
int gelsd(int64_t m, int64_t n, int64_t columns, T* a, T* b, T* s, double rcond, int& rank);

}  // namespace tape::linalg
