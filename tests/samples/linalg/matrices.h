#pragma once

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

// Matrices for the samples of linear algebra, shifted so that they are regular with distinct spectra for any x.
namespace tape::linalg {

/// x [..., n, n] + diag(4, 6, 8, ...): far from singular.
inline Tensor regular(const Tensor& x) {
  const int64_t n = x.size(-1);
  return x + eye(n, x.dtype()) * (arange(4, 4 + 2 * static_cast<double>(n), 2, f64).to(x.dtype()));
}
/// regular() of x + xᵀ.
inline Tensor regular_symmetric(const Tensor& x) { return regular(x + transpose(x)); }
/// x [..., m, n] plus a rectangular diagonal 3, 5, 7, ...
inline Tensor regular_rectangle(const Tensor& x) {
  const int64_t m = x.size(-2), n = x.size(-1);
  return x + slice(slice(eye(std::max(m, n), x.dtype()), 0, {.end = m}), 1, {.end = n}) *
                 (arange(3, 3 + 2 * static_cast<double>(n), 2, f64).to(x.dtype()));
}

/// All values of several results in one vector, each multiplied by a different weight.
inline Tensor mixed(const Tensor& x, double start) {
  return reshape(x, {-1}) * (arange(x.numel(), f64) * 0.1 + start).to(x.dtype());
}

}  // namespace tape::linalg
