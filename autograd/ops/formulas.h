#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../tensor.h"

namespace tape {

/// The mathematics of one recorded operation, with the shapes it had.
struct Formula {
  std::string forward;                ///< "y [2, 3] = a [2, 4] · b [4, 3]"
  std::vector<std::string> backward;  ///< one an input: "da [2, 4] = dy [2, 3] · bᵀ"
};

/// Whether an operation of that name has a formula of its own: every registered one does.
bool has_formula(std::string_view operation);

/// The formula of an operation by its name on the tape, for inputs (undefined ones were not given) and outputs of
/// these shapes; dy is the gradient that arrives, dx the one that is passed on. Whether a matrix product took its
/// operands transposed is told from their shapes and, where these leave it open, from the values. An operation without
/// an entry (custom(), for example) gets one that names its inputs alone.
Formula formula_of(std::string_view operation, const Tensors& inputs, const Tensors& outputs);

}  // namespace tape
