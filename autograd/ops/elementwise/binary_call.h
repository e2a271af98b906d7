#pragma once

#include "../../kernels/elementwise/elementwise.h"
#include "../../tensor.h"

namespace tape {

/// Computes a function of two operands, broadcast, without recording. Errors (dtype) and (shape) start with the
/// operation's name.
Tensor binary_values(const char* operation, kernels::Binary kind, const Tensor& a, const Tensor& b);

}  // namespace tape
