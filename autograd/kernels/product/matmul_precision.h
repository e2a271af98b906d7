#pragma once

#include <string_view>

namespace tape {

/// How exact matrix products of f32 tensors must be at least, in PyTorch's words (`set_float32_matmul_precision`).
/// Operands alone are rounded; sums are f32's, and products of f64 tensors are f64's always.
enum class MatmulPrecision {
  highest,  ///< f32
  high,     ///< two bf16 a value, three products: within 2^-15 of an element's sum of |a_i b_i|, 2^-16 of the norm
  medium,   ///< each value as the nearest bf16, of 8 bits
};

/// "highest", "high", "medium"
std::string_view to_string(MatmulPrecision precision);

}  // namespace tape
