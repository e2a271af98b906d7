#pragma once

#include <string_view>

namespace tape {

/// Minimum precision of matrix products of f32 tensors, as in PyTorch's `set_float32_matmul_precision`. Only operands
/// are rounded; sums are f32. Products of f64 tensors are always f64. On a GPU, `high` and `medium` round operands to
/// TF32, of 11 bits, and `medium` makes activations bf16 (AutocastScope).
enum class MatmulPrecision {
  highest,  ///< f32
  high,     ///< two bf16 per value, three products: within 2^-15 of an element's sum of |a_i b_i|, 2^-16 of the norm
  medium,   ///< each value rounded to the nearest bf16, of 8 bits
};

/// "highest", "high", "medium"
std::string_view to_string(MatmulPrecision precision);

}  // namespace tape
