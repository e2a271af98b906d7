#pragma once

#include "../../tensor.h"

namespace tape {

/// How the losses of single elements become one result: their mean, their sum, or all of them.
enum class Reduction { mean, sum, none };

/// The losses of single elements, or what becomes of them. Error (shape) for the mean of nothing.
Tensor reduced(const Tensor& losses, Reduction reduction);

/// Throws Error (dtype) `operation: dtypes differ: f32 and f64` or `operation: needs a floating dtype, got i64`, and
/// (shape) `operation: shapes differ: [3] and [3, 1]`.
void check_pair(const char* operation, const Tensor& x, const Tensor& target);

}  // namespace tape
