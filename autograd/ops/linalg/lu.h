#pragma once

#include "batch.h"

namespace tape::linalg {

/// The LU factorizations of square matrices a [..., n, n], of their transposes to be exact, which is how a row-major
/// matrix looks to LAPACK.
struct Lu {
  Tensor factors;   // [..., n, n]
  Tensor pivots;    // [..., n] i32
  Failure failure;  // its info: the pivot, from 1, that is 0
};
Lu lu_of(const Tensor& a);

/// The x with a x = b, or aᵀ x = b; b [..., n, k], leading axes broadcast. Nothing is recorded.
Tensor lu_solve(const Lu& lu, const Tensor& b, bool transpose_a);
Tensor lu_inverse(const Lu& lu);

/// Throws Error (numeric) `operation: matrix [1] of a [2, 3, 3] is singular: pivot 3 is 0`.
void check_regular(const char* operation, const Lu& lu);

}  // namespace tape::linalg
