#pragma once

#include "batch.h"

namespace tape::linalg {

/// LU factorizations of square matrices a [..., n, n]; strictly of their transposes, since LAPACK is column-major.
struct Lu {
  Tensor factors;         // [..., n, n]
  Tensor pivots;          // [..., n] i32
  LapackFailure failure;  // info is the pivot, from 1, that is 0
};
Lu lu_of(const Tensor& a);

/// Solves a x = b or aᵀ x = b; b [..., n, k], leading axes broadcast. Not recorded.
Tensor lu_solve(const Lu& lu, const Tensor& b, bool transpose_a);
Tensor lu_inverse(const Lu& lu);

/// Throws Error (numeric) `operation: matrix [1] of a [2, 3, 3] is singular: pivot 3 is 0`.
void check_regular(const char* operation, const Lu& lu);

}  // namespace tape::linalg
