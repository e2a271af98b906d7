#pragma once

#include <cstdint>

namespace tape::linalg {

// LAPACK on one matrix, by xtensor-blas: cxxlapack, on which xt::linalg stands, which would copy each matrix and hide
// where it failed. Matrices are column-major, without gaps between columns, and are overwritten; a row-major matrix is
// its transpose. None may be empty. Each returns LAPACK's info: 0, or the step (from 1) that failed. T is float or
// double.

/// a [n, n] = Uᵀ U: U replaces the upper triangle, the lower one is not read.
template <class T>
int potrf(int64_t n, T* a);
/// P a = L U in the place of a [n, n], row i exchanged with pivots[i] - 1.
template <class T>
int getrf(int64_t n, T* a, int* pivots);
/// The inverse of getrf's a, in the place of its factors.
template <class T>
int getri(int64_t n, T* factors, const int* pivots);
/// The x with a x = b, or aᵀ x = b, for getrf's a; x replaces b [n, columns].
template <class T>
int getrs(bool transposed, int64_t n, int64_t columns, const T* factors, const int* pivots, T* b);
/// The same for a triangular a, whose diagonal is taken for ones where `unit`.
template <class T>
int trtrs(bool upper, bool transposed, bool unit, int64_t n, int64_t columns, const T* a, T* b);
/// a [m, n] = L Q, k = min(m, n): L replaces the lower triangle, Q's reflectors the rest and tau [k].
template <class T>
int gelqf(int64_t m, int64_t n, T* a, T* tau);
/// The first m <= n rows of gelqf's Q [n, n], from its reflectors in the first k rows of a [m, n].
template <class T>
int orglq(int64_t m, int64_t n, int64_t k, T* a, const T* tau);
/// a = V diag(w) Vᵀ by its lower triangle, w [n] ascending. V replaces a where `vectors`.
template <class T>
int syevd(bool vectors, int64_t n, T* a, T* w);
/// a [m, n] = U diag(s) Vᵀ, s [k] descending, k = min(m, n). job N: s alone; S: u [m, k] and vt [k, n]; A: u [m, m] and
/// vt [n, n].
template <class T>
int gesdd(char job, int64_t m, int64_t n, T* a, T* s, T* u, T* vt);
/// The x of least norm that minimizes |a x - b|; b [max(m, n), columns] becomes x. Singular values s [min(m, n)] at
/// most rcond s[0] are taken for 0.
template <class T>
int gelsd(int64_t m, int64_t n, int64_t columns, T* a, T* b, T* s, double rcond, int& rank);

}  // namespace tape::linalg
