#pragma once

#include "../../tensor.h"

namespace tape::linalg {

/// Throws Error (numeric) `operation: the gradient of the eigenvectors does not exist: matrix [1] of a [2, 3, 3]:
/// eigenvalues 0 and 1 are equal (2 and 2)` where two neighbours of values [..., n], which are sorted, are nearer than
/// rounding leaves them: within 8 eps of the largest. `vectors` and `value` are what messages call them.
void check_distinct(const char* operation, const char* vectors, const char* value, const Tensor& values,
                    const Shape& shape);

}  // namespace tape::linalg
