#pragma once

#include "../../tensor.h"

// What AutocastScope asks of operations.
namespace tape {

/// The dtype of an activation computed from a parameter: bf16 for f32 parameters where autocast is on, else the
/// parameter's.
DType activation_dtype(const Tensor& parameter);

/// x for a product with a parameter: f32 in bf16 where autocast is on and the parameter is f32.
Tensor as_activation(const Tensor& x, const Tensor& parameter);

/// An operand beside an activation: f32 beside bf16 in bf16 where autocast is on.
Tensor beside_activation(const Tensor& x, const Tensor& activation);

}  // namespace tape
