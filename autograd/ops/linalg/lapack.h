#pragma once

#include <cstdint>

namespace tape::linalg {

// LAPACK on one matrix, by xtensor-blas: xt::lapack, on which xt::linalg stands, which would copy each matrix and hide
// where it failed. Matrices are column-major, without gaps between columns, and are overwritten; a row-major matrix is
// its transpose. None may be empty. Each returns LAPACK's info: 0, or the step (from 1) that failed.

/// The inverse from P a = L U, row i exchanged with pivots[i] - 1, in its place.
template <class T>
int getri(int64_t n, T* lu, const int* pivots);
/// The lower triangle of a = Q B Qᵀ, B tridiagonal: its diagonal and what is beside it [n - 1]. Q is the product of
/// reflectors, whose tails stand in the columns below those, and tau [n - 1].
template <class T>
int sytrd(int64_t n, T* a, T* diagonal, T* beside, T* tau);
/// B = V diag(w) Vᵀ of sytrd's, w ascending, in the place of the diagonal; V [n, n].
template <class T>
int stedc(int64_t n, T* diagonal, T* beside, T* v);
/// Root j, from 0, of 1 + rho Σ zᵢ² / (dᵢ - root), d [n] rising, |z| = 1, rho > 0; `apart` [n] becomes d - root, or
/// where n is 1 or 2 the eigenvector of D + rho z zᵀ that belongs to it.
template <class T>
int laed4(int64_t n, int64_t j, const T* d, const T* z, T* apart, T rho, T& root);
/// The eigenvalues of sytrd's B alone.
template <class T>
int sterf(int64_t n, T* diagonal, T* beside);
/// a [m, n] = Q B Pᵀ, m >= n, B upper bidiagonal: its diagonal [n] and what is above it [n - 1]. Tails of Q's
/// reflectors stand in columns below the diagonal, of P's in rows right of what is above it.
template <class T>
int gebrd(int64_t m, int64_t n, T* a, T* diagonal, T* above, T* tau_q, T* tau_p);
/// B = U diag(s) Vᵀ of gebrd's, s descending, in the place of the diagonal; u [n, n] and vt [n, n], or both null.
template <class T>
int bdsdc(int64_t n, T* diagonal, T* above, T* u, T* vt);
/// The x of least norm that minimizes |a x - b|; b [max(m, n), columns] becomes x. Singular values s [min(m, n)] at
/// most rcond s[0] are taken for 0.
template <class T>
int gelsd(int64_t m, int64_t n, int64_t columns, T* a, T* b, T* s, double rcond, int& rank);

}  // namespace tape::linalg
