#pragma once

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

// Matrices for the samples of linear algebra: what is added makes them regular, with distinct spectra, whatever x is.
namespace tape::linalg {

/// x [..., n, n] + diag(4, 6, 8, ...), one more at every second place: far from singular.
inline Tensor regular(const Tensor& x) {
  const int64_t n = x.size(-1);
  return x + eye(n, x.dtype()) * (arange(4, 4 + 2 * static_cast<double>(n), 2, f64).to(x.dtype()));
}
/// The same of x + xᵀ.
inline Tensor regular_symmetric(const Tensor& x) { return regular(x + transpose(x)); }
/// x [..., m, n] + twice, four times, ... the unit vectors.
inline Tensor regular_rectangle(const Tensor& x) {
  const int64_t m = x.size(-2), n = x.size(-1);
  return x + slice(slice(eye(std::max(m, n), x.dtype()), 0, {.end = m}), 1, {.end = n}) *
                 (arange(3, 3 + 2 * static_cast<double>(n), 2, f64).to(x.dtype()));
}

/// Everything that several results hold, in one row, each with other weights.
inline Tensor mixed(const Tensor& x, double start) {
  return reshape(x, {-1}) * (arange(x.numel(), f64) * 0.1 + start).to(x.dtype());
}

}  // namespace tape::linalg
