#pragma once

#include <functional>
#include <string>

#include "../../tape/tape.h"

namespace tape {

// Reductions over all values of several tensors, f32 or f64; Error (dtype) `operation: needs f32 or f64, got i64` for
// others. Not recorded.

/// Sum of squares in double: computed per tensor, then added in order, f32 tensors first.
double sum_of_squares(const char* operation, TensorList tensors);
/// The same for f32 tensors on `device`, as an f64 scalar there that the host does not wait for. Throws Error (dtype)
/// for f64.
Tensor sum_of_squares_on_device(const char* operation, TensorList tensors, Device device);
/// Whether every value is finite.
bool all_finite(const char* operation, TensorList tensors);
/// Throws Error (numeric) with message(index of a tensor) for the first tensor with a value that is not finite, f32
/// tensors first; on a GPU as device_checks.h says.
void check_finite(const char* operation, TensorList tensors, const std::function<std::string(size_t tensor)>& message);

}  // namespace tape
