#pragma once

#include "../../tape/tape.h"

namespace tape {

// Over all values of several tensors, f32 or f64; Error (dtype) `operation: needs f32 or f64, got i64` for others. Not
// recorded.

/// The sum of the squares, in double: each tensor's by itself, added in order, those of f32 first.
double sum_of_squares(const char* operation, TensorList tensors);
/// Whether every value is finite.
bool all_finite(const char* operation, TensorList tensors);

}  // namespace tape
