#pragma once

#include "../index/order.h"

namespace tape {

// Scans along an axis other than cumsum (order.h); floating dtypes (Error (dtype) for others), the same shape. Error
// (index) for an axis that x does not have.

/// y[i] = x[0] ... x[i]. The gradient consists of products of the other factors, so it is correct even if values are 0,
/// infinite or NaN.
Tensor cumprod(const Tensor& x, int64_t axis);
/// y[i] = log(exp(x[0]) + ... + exp(x[i])) without overflow; -inf, with gradient 0 (PyTorch: NaN), as long as all of x
/// is -inf.
Tensor logcumsumexp(const Tensor& x, int64_t axis);
/// Largest or smallest of x[0] ... x[i] and its index, the last one for ties; NaN propagates.
/// @{
TopK cummax(const Tensor& x, int64_t axis);
TopK cummin(const Tensor& x, int64_t axis);
/// @}

/// Options of linear_scan().
struct ScanOptions {
  bool reverse = false;  ///< from the end
};
/// y[i] = a[i] y[i - 1] + b[i] along an axis, y[-1] = 0: a linear recurrence, as in state-space models. a and b have
/// one shape (Error (shape)) and dtype (Error (dtype)).
Tensor linear_scan(const Tensor& a, const Tensor& b, int64_t axis, const ScanOptions& options = {});

}  // namespace tape
