#pragma once

#include "../../tensor.h"

namespace tape {

/// Matrix product over the last two axes with leading axes broadcast (NumPy): [..., m, k] x [..., k, n] -> [..., m, n].
/// A vector [k] is a row on the left and a column on the right; that axis is dropped again. Both operands f32 or both
/// f64. Error (shape) `matmul: inner sizes differ: a [32, 10, 512] x b [256, 64] (512 vs 256)`, also if leading axes do
/// not broadcast or an operand has no axis; (dtype) for different dtypes.
Tensor matmul(const Tensor& a, const Tensor& b);

/// Options of matmul(): operands whose last two axes are swapped, without a copy.
struct MatmulOptions {
  bool transpose_a = false;  ///< a is [..., k, m]
  bool transpose_b = false;  ///< b is [..., n, k]
};
/// matmul with the last two axes of either operand swapped. Errors as in matmul(), and (shape) for a vector.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options);

/// y = x weight^T + bias: x [..., in], weight [out, in], bias [out] or undefined -> [..., out]; all f32 or all f64.
/// Error (shape) `linear: inner sizes differ: x [2, 3, 10] x weight [8, 8] (10 vs 8)`, also for a weight that is not a
/// matrix and a bias that is not [out]; (dtype) for different dtypes.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tape
