#pragma once

#include "../../kernels/elementwise/elementwise.h"
#include "../../tensor.h"

namespace tape {

/// Computes a function of two operands, broadcast, without recording. Errors (dtype) and (shape) start with the
/// operation's name.
Tensor binary_values(const char* operation, kernels::Binary kind, const Tensor& a, const Tensor& b);

/// The same into `out`, which has the operands' dtype and may be one of them if that is not repeated.
void write_binary(const char* operation, kernels::Binary kind, const kernels::Broadcast& plan, const Tensor& a,
                  const Tensor& b, Tensor& out);

}  // namespace tape
