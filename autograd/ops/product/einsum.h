#pragma once

#include <string_view>

#include "../../tensor.h"

namespace tape {

/// Einstein summation in NumPy's notation: einsum("bhqd,bhkd->bhqk", {query, key}).
///
/// One letter per axis, operands separated by commas. Letters that are not in the result are summed over; a letter
/// twice in one operand takes its diagonal; "..." stands for leading axes, which broadcast. Without "->" the result is
/// "..." and the letters that occur once, in alphabetical order. Spaces are ignored.
///
/// Operands are contracted from left to right, each pair with one matmul; f32 and f64. Gradients come from the
/// reshapes, permutes and products. Error (config) for a malformed equation; Error (shape) `einsum: "ij,jk": letter 'j'
/// is 3 in operand 0 [2, 3] and 4 in operand 1 [4, 5]`.
Tensor einsum(std::string_view equation, const Tensors& operands);

}  // namespace tape
