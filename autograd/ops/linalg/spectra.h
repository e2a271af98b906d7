#pragma once

#include <cstdint>

namespace tape::linalg {

// Spectra of one matrix: LAPACK makes it tridiagonal or bidiagonal, and finds the spectrum of that by dividing and
// conquering (what its syevd and gesdd do; of larger tridiagonal ones, tridiagonal.h); the vectors of the matrix itself
// are made by products that are shared among threads (reflectors.h). A matrix has the same bits for any number of
// threads. Matrices are overwritten, and none may be empty. Each returns LAPACK's info: 0, or what did not converge. T
// is float or double.

/// Values differ by rounding where they are found beside vectors, and take longer.
enum class SpectrumValues {
  beside_vectors,
  alone  ///< the bits that they have where `vectors`, or u and v, are null, in any case
};

/// a = V diag(w) Vᵀ of symmetric a [n, n], w ascending; column i of V is row i of `vectors` [n, n], which may be null.
template <class T>
int symmetric_spectrum(int64_t n, T* a, T* w, T* vectors, SpectrumValues values);

/// Column-major a [m, n] = U diag(s) Vᵀ, m >= n, s [n] descending. Column i of U is row i of u [columns, m], columns n
/// or m; column i of V is row i of v [n, n]. Both may be null.
template <class T>
int singular_spectrum(int64_t m, int64_t n, int64_t columns, T* a, T* s, T* u, T* v, SpectrumValues values);

}  // namespace tape::linalg
