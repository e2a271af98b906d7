#pragma once

#include "../index/order.h"

namespace tape {

// Scans along an axis besides cumsum (order.h); f32 and f64 (Error (dtype) for others), the same shape. Error (index)
// for an axis that x does not have.

/// y[i] = x[0] ... x[i]; the gradient is right also where values are 0, infinite or NaN: it is made of products of the
/// others.
Tensor cumprod(const Tensor& x, int64_t axis);
/// y[i] = log(exp(x[0]) + ... + exp(x[i])), without overflow; -inf, with gradients 0 (PyTorch: NaN), while all of x is.
Tensor logcumsumexp(const Tensor& x, int64_t axis);
/// The largest or least of x[0] ... x[i] and where it stands, of equal ones the last; a NaN stays.
TopK cummax(const Tensor& x, int64_t axis);
TopK cummin(const Tensor& x, int64_t axis);

struct ScanOptions {
  bool reverse = false;  ///< from the end
};
/// y[i] = a[i] y[i - 1] + b[i] along an axis, y[-1] = 0: a linear recurrence, as state-space models have it. a and b
/// have one shape (Error (shape)) and dtype (Error (dtype)).
Tensor linear_scan(const Tensor& a, const Tensor& b, int64_t axis, const ScanOptions& options = {});

}  // namespace tape
