// cholesky, qr.
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

/// Murray 2016 (Differentiation of the Cholesky decomposition), eq. 9 and 10; Giles 2008. dA = dL Lᵀ + L dLᵀ gives
/// L⁻¹ dA L⁻ᵀ = F + Fᵀ with F = L⁻¹ dL lower triangular, so dL = L Φ(L⁻¹ dA L⁻ᵀ), where Φ takes the lower triangle and
/// half of the diagonal. The gradient is the symmetric part of Ā = L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, since (A + Aᵀ) / 2 is factored.
const Op cholesky_op({.name = "cholesky",
                      .formula = {.forward = "y{y} = L, L · Lᵀ = a",
                                  .backward = {"da{x} = the symmetric part of L⁻ᵀ · Φ(Lᵀ · dL) · L⁻¹, Φ the lower "
                                               "triangle with half of the diagonal"}}});

/// Seeger, Hetzel, Dai, Lawrence 2017 (Auto-differentiating linear algebra), 4.3, with rows instead of columns; Walter
/// and Lehmann 2013. For m >= n: Ā = (Q̄ + Q copyltu(M)) R⁻ᵀ with M = R R̄ᵀ − Q̄ᵀ Q, where copyltu mirrors the lower
/// triangle. For m < n (Roberts and Roberts 2020, QR and LQ decomposition matrix backpropagation): a = [X Y], R = [U V]
/// with X = Q U and V = Qᵀ Y, so Ȳ = Q V̄, and X̄ is the square case with Q̄ + Y V̄ᵀ and Ū.
const Op qr_op({.name = "qr",
                .formula = {.forward = "y{y} = Q, Q · R = a{0}",
                            .backward = {"da{x} = (dQ + Q · copyltu(R · dRᵀ − dQᵀ · Q)) · R⁻ᵀ, copyltu mirrors the "
                                         "lower triangle"}}});

/// A row-major L is Lᵀ to LAPACK, an upper triangle.
Tensor cholesky_values(const Tensor& a) {
  const Matrices all = square_matrices("cholesky", "a", a);
  check_finite("cholesky", "a", a);
  const int64_t n = all.rows;
  Tensor l = symmetric_part("cholesky", a);
  if (n == 0) return l;
  const LapackFailure failure = on_host("cholesky", a, [&]<class T>(const KernelCall& at, T) {
    auto* values = at.out<T>(l);
    return for_each_matrix(all.count, static_cast<double>(n * n) * static_cast<double>(n) / 6,
                           [&](int64_t i) { return potrf(n, values + i * n * n); });
  });
  if (failure.matrix >= 0)
    raise(ErrorKind::numeric, "cholesky: {} is not positive definite: its leading minor of order {} is not positive",
          matrix_name("a", a.shape(), failure.matrix), failure.info);
  return tril(l);
}

/// Q [..., m, columns] and R [..., columns, n]. A row-major a is aᵀ = Rᵀ Qᵀ to LAPACK.
Qr qr_values(const Tensor& a, int64_t columns) {
  const Matrices all = matrices("qr", "a", a);
  check_finite("qr", "a", a);
  const int64_t m = all.rows, n = all.columns, k = std::min(m, n);
  if (k == 0)
    return {zeros(all.of(m, columns), a.options()) + slice(eye(m, a.options()), 1, {.end = columns}),
            zeros(all.of(columns, n), a.options())};
  Tensor factored = detached_copy(a), q = empty(all.of(m, columns), a.options());
  on_host("qr", a, [&]<class T>(const KernelCall& at, T) {
    T *values = at.out<T>(factored), *result = at.out<T>(q);
    const double work = 2 * static_cast<double>(m * std::max(n, columns)) * static_cast<double>(k);
    for_each_matrix(all.count, work, [&](int64_t i) {
      T *const own = values + i * m * n, *const basis = result + i * m * columns;
      std::vector<T> tau(static_cast<size_t>(k));
      gelqf(n, m, own, tau.data());
      for (int64_t row = 0; row < m; ++row) std::copy_n(own + row * n, k, basis + row * columns);
      return orglq(columns, m, k, basis, tau.data());
    });
  });
  return {q, triu(slice(factored, -2, {.end = columns}))};
}

/// Throws if the first k columns of a are dependent: R has a diagonal value of 0 up to rounding.
void check_independent(const Tensor& r, const Shape& shape) {
  const int64_t k = std::min(r.size(-2), r.size(-1)), columns = r.size(-1),
                count = r.shape().slice(0, r.rank() - 2).numel();
  on_host("qr", r, [&]<class T>(const KernelCall& at, T) {
    for (int64_t i = 0; i < count * k; ++i) {
      const T* const matrix = at.in<T>(r) + i / k * r.size(-2) * columns;
      T largest = 0;
      for (int64_t j = 0; j < k; ++j) largest = std::max(largest, std::abs(matrix[j * columns + j]));
      const T own = std::abs(matrix[i % k * columns + i % k]);
      if (own <= std::numeric_limits<T>::epsilon() * largest)
        raise(ErrorKind::numeric,
              "qr: the gradient does not exist: {}: its first {} columns are not independent (R[{}, {}] is {})",
              matrix_name("a", shape, i / k), k, i % k, i % k, static_cast<double>(own));
    }
  });
}

/// The gradient for q [..., m, k] and r [..., k, k].
Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const Tensor m = product(r, dr, {.transpose_b = true}) - product(dq, q, {.transpose_a = true});
  const Tensor below = tril(m, -1);
  const Tensor symmetric = below + transposed(below) + diagonal_part(m);
  return solve_triangular(transposed(r), dq + product(q, symmetric), {.upper = false, .left = false});
}

}  // namespace

Tensor cholesky(const Tensor& a, const CholeskyOptions& options) {
  const Tensor values = cholesky_values(a);
  const Tensor l = record(cholesky_op, {a}, values, {values}, [](const BackwardContext& c) -> Tensors {
    const Tensor factor = c.saved(0);
    const Tensor p = product(factor, c.grad(), {.transpose_a = true});
    const Tensor phi = tril(p) - 0.5 * diagonal_part(p);
    const Tensor half = solve_triangular(transposed(factor), phi, {.upper = true});
    const Tensor da = solve_triangular(factor, half, {.left = false});
    return {0.5 * (da + transposed(da))};
  });
  return options.upper ? transposed(l) : l;
}

Qr qr(const Tensor& a, QrMode mode) {
  const Matrices all = matrices("qr", "a", a);
  const int64_t m = all.rows, n = all.columns, k = std::min(m, n);
  const Qr values = qr_values(a, mode == QrMode::complete ? m : k);
  const Tensors both =
      record_many(qr_op, {a}, {values.q, values.r}, {a, values.q, values.r}, [=](const BackwardContext& c) -> Tensors {
        if (mode == QrMode::r)
          raise(ErrorKind::graph, "qr: mode r has no gradient, as it returns no Q: use mode reduced");
        if (mode == QrMode::complete && m > n)
          raise(ErrorKind::graph,
                "qr: mode complete has no gradient for a {}, with more rows than columns: use mode "
                "reduced",
                to_string(c.saved(0).shape()));
        const Tensor q = c.saved(1), r = c.saved(2), dq = c.grad(0), dr = c.grad(1);
        check_independent(r, c.saved(0).shape());
        if (m >= n) return {qr_gradient(q, r, dq, dr)};
        const Tensor dv = slice(dr, -1, {.start = m}), y = slice(c.saved(0), -1, {.start = m});
        const Tensor dx = qr_gradient(q, slice(r, -1, {.end = m}), dq + product(y, dv, {.transpose_b = true}),
                                      slice(dr, -1, {.end = m}));
        return {cat({dx, product(q, dv)}, -1)};
      });
  if (mode == QrMode::r) return {zeros({0}, a.options()), both[1]};
  return {both[0], both[1]};
}

}  // namespace tape::linalg
