#pragma once

#include <cstdint>

namespace tape::linalg {

// LAPACK on one matrix, through cxxlapack of xtensor-blas. xt::linalg, built on it, would copy each matrix and hide
// where it failed. Matrices are column-major, without gaps between columns, and are overwritten; a row-major matrix
// appears transposed. Matrices must not be empty. Functions return LAPACK's info: 0, or the step (from 1) that failed.
// T is float or double.

/// a [n, n] = Uᵀ U: U replaces the upper triangle; the lower one is not read.
template <class T>
int potrf(int64_t n, T* a);
/// P a = L U: the factors replace a [n, n]; row i is swapped with row pivots[i] - 1.
template <class T>
int getrf(int64_t n, T* a, int* pivots);
/// Inverse of a, from getrf's factors, which it replaces.
template <class T>
int getri(int64_t n, T* factors, const int* pivots);
/// Solves a x = b or aᵀ x = b with getrf's factors; x replaces b [n, columns].
template <class T>
int getrs(bool transposed, int64_t n, int64_t columns, const T* factors, const int* pivots, T* b);
/// Solves the same for a triangular a; with `unit` its diagonal counts as ones.
template <class T>
int trtrs(bool upper, bool transposed, bool unit, int64_t n, int64_t columns, const T* a, T* b);
/// a [m, n] = L Q, k = min(m, n): L replaces the lower triangle, Q's reflectors the rest and tau [k].
template <class T>
int gelqf(int64_t m, int64_t n, T* a, T* tau);
/// The first m <= n rows of gelqf's Q [n, n], from its reflectors in the first k rows of a [m, n].
template <class T>
int orglq(int64_t m, int64_t n, int64_t k, T* a, const T* tau);
/// a = V diag(w) Vᵀ from its lower triangle, w [n] ascending. With `vectors`, V replaces a.
template <class T>
int syevd(bool vectors, int64_t n, T* a, T* w);
/// a [m, n] = U diag(s) Vᵀ, s [k] descending, k = min(m, n). job N: only s; S: u [m, k] and vt [k, n]; A: u [m, m] and
/// vt [n, n].
template <class T>
int gesdd(char job, int64_t m, int64_t n, T* a, T* s, T* u, T* vt);
/// Minimum-norm x that minimizes |a x - b|; b [max(m, n), columns] becomes x. Singular values s [min(m, n)] of at most
/// rcond s[0] count as 0.
template <class T>
int gelsd(int64_t m, int64_t n, int64_t columns, T* a, T* b, T* s, double rcond, int& rank);

}  // namespace tape::linalg
