#pragma once

#include <cstdint>

namespace tape::linalg {

/// B = V diag(w) Vᵀ of a symmetric tridiagonal B, its diagonal [n] and what is beside it [n - 1], which are
/// overwritten: w, ascending, replaces the diagonal, and column i of V is row i of v [n, n]. Small ones are LAPACK's,
/// larger ones are divided and put together on all threads. A matrix has the same bits for any number of them. Gives 0,
/// or LAPACK's info where something did not converge. T is float or double.
template <class T>
int tridiagonal_spectrum(int64_t n, T* diagonal, T* beside, T* v);

}  // namespace tape::linalg
