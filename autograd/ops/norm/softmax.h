#pragma once

#include "../../tensor.h"

namespace tape {

/// y_i = e^(x_i) / sum_j e^(x_j) along an axis: x of any shape -> the same shape, f32 or f64; a negative axis counts
/// from the end. If all values along the axis are -inf, the result and the gradient are 0 (PyTorch: NaN). Error (dtype)
/// for i64 and bool, (index) for an axis that x does not have.
Tensor softmax(const Tensor& x, int64_t axis);
/// y_i = x_i - log sum_j e^(x_j) along an axis; shapes, dtypes and errors as in softmax(). If all values along the axis
/// are -inf, the result is -inf and the gradient 0 (PyTorch: NaN).
Tensor log_softmax(const Tensor& x, int64_t axis);

}  // namespace tape
