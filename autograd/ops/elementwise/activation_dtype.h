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

/// x in bf16, not recorded.
Tensor rounded(const Tensor& x);

/// A bf16 copy of an f32 weight for products with bf16 activations, not recorded. It is kept with the weight's memory
/// and rounded again after the weight was written through a tensor; tied weights share it.
Tensor rounded_weight(const Tensor& weight);

/// The copy that rounded_weight() would return without rounding; undefined if there is none or it is not up to date.
/// For optimizers, which write it with the weight and then call set_rounded().
Tensor current_rounded_weight(const Tensor& weight);
/// States that the copy has the weight's present values.
void set_rounded(const Tensor& weight);

/// A weight in the dtype of an activation: itself, or rounded: by a recorded cast if `recorded`.
Tensor weight_beside(const Tensor& activation, const Tensor& weight, bool recorded = false);

}  // namespace tape
