#pragma once

#include "../../tensor.h"

// What equations a x = b check of their sides.
namespace tape::linalg {

/// Throws Error (shape) `operation: sizes differ: a [3, 3] and b [4, 2] (3 vs 4)`.
void check_sides(const char* operation, const Tensor& a, const Tensor& b, int64_t size_a, int64_t size_b);

/// Whether b is a vector for every matrix of a, not a matrix: one axis, or a's shape without the last axis (PyTorch).
bool is_vector_of(const Tensor& a, const Tensor& b);

}  // namespace tape::linalg
