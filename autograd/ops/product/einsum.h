#pragma once

#include <string_view>

#include "../../tensor.h"

namespace tape {

/// Einstein's sums, in NumPy's notation: einsum("bhqd,bhkd->bhqk", {query, key}).
///
/// One letter an axis, operands separated by commas. Letters that the result does not name are summed out; a letter
/// twice in one operand is its diagonal; "..." stands for leading axes, which broadcast. Without "->" the result is
/// "..." and the letters that occur once, in alphabetical order. Spaces are skipped.
///
/// Operands are contracted from left to right, each pair by one matmul; f32 and f64. Gradients are those of the
/// reshapes, permutes and products that it is made of. Error (config) for an equation that is malformed; Error (shape)
/// `einsum: "ij,jk": letter 'j' is 3 in operand 0 [2, 3] and 4 in operand 1 [4, 5]`.
Tensor einsum(std::string_view equation, const Tensors& operands);

}  // namespace tape
