#pragma once

#include "../tensor.h"

namespace tape {

/// y_i = e^(x_i) / sum_j e^(x_j) along an axis. A group of nothing but -inf gives zeros and zero gradients.
Tensor softmax(const Tensor& x, int64_t axis);
/// y_i = x_i - log sum_j e^(x_j) along an axis. A group of nothing but -inf gives -inf and zero gradients.
Tensor log_softmax(const Tensor& x, int64_t axis);

}  // namespace tape
