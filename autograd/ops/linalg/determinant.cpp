// det, slogdet, trace.
#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lu.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

/// Giles 2008, 2.2.4 (Jacobi): d det A = det A tr(A⁻¹ dA), so Ā = ȳ det(A) A⁻ᵀ. For singular A this is ȳ cof A, the
/// cofactor matrix: with A = U diag(s) Vᵀ it is det(U) det(V) U diag(∏ⱼ≠ᵢ sⱼ) Vᵀ.
const Op det_op({.name = "det",
                 .formula = {.forward = "y{y} = det a{0}", .backward = {"da{x} = dy ⊙ y ⊙ a⁻ᵀ, the cofactors"}}});

/// Giles 2008, 2.2.4: d ln |det A| = tr(A⁻¹ dA).
const Op slogdet_op({.name = "slogdet",
                     .formula = {.forward = "y{y} = ln |det a{0}|", .backward = {"da{x} = dy ⊙ a⁻ᵀ"}}});

const Op trace_op({.name = "trace",
                   .formula = {.forward = "y{y} = Σᵢ a{0}ᵢᵢ",
                               .backward = {"da{x} = dy on the diagonal, 0 elsewhere"}}});

/// Sign and logarithm of |det| of each matrix, from its LU factorization.
template <class T>
Slogdet slogdet_values(const KernelCall& at, const Lu& lu, const Matrices& all) {
  const int64_t n = all.rows;
  Slogdet result{empty(all.batch, lu.factors.options()), empty(all.batch, lu.factors.options())};
  T *sign = at.out<T>(result.sign), *logarithm = at.out<T>(result.logabsdet);
  const T* factors = at.in<T>(lu.factors);
  const int* pivots = at.in<int>(lu.pivots);
  for (int64_t i = 0; i < all.count; ++i) {
    sign[i] = 1;
    logarithm[i] = 0;
    for (int64_t j = 0; j < n; ++j) {
      const T pivot = factors[i * n * n + j * n + j];
      if ((pivots[i * n + j] != j + 1) != (pivot < 0)) sign[i] = -sign[i];
      if (pivot == 0) sign[i] = 0;
      logarithm[i] += std::log(std::abs(pivot));
    }
  }
  return result;
}

template <class T>
Tensor determinants(const KernelCall& at, const Lu& lu, const Matrices& all) {
  const int64_t n = all.rows;
  Tensor y = empty(all.batch, lu.factors.options());
  const T* const factors = at.in<T>(lu.factors);
  const int* const pivots = at.in<int>(lu.pivots);
  T* values = at.out<T>(y);
  for (int64_t i = 0; i < all.count; ++i) {
    values[i] = 1;
    for (int64_t j = 0; j < n; ++j) {
      values[i] *= factors[i * n * n + j * n + j];
      if (pivots[i * n + j] != j + 1) values[i] = -values[i];
    }
  }
  return y;
}

/// ∏ⱼ≠ᵢ sⱼ for each i of the last axis.
Tensor products_of_others(const Tensor& s) {
  Tensor y = empty_like(s);
  const int64_t n = s.size(-1);
  on_host("det", s, [&]<class T>(const KernelCall& at, T) {
    T* values = at.out<T>(y);
    for (int64_t i = 0; i < s.numel(); ++i) {
      values[i] = 1;
      for (int64_t j = i - i % n; j < i - i % n + n; ++j)
        if (j != i) values[i] *= at.in<T>(s)[j];
    }
  });
  return y;
}

Tensor cofactors(const Tensor& a) {
  const Svd all = svd(a.detach());
  const Tensor sign = per_matrix(det(all.u) * det(all.vh));
  return sign * product(all.u * unsqueeze(products_of_others(all.s), -2), all.vh);
}

/// a⁻ᵀ for the gradients: recorded for higher-order differentiation, otherwise from the saved factorization.
Tensor inverse_transposed(const BackwardContext& c, const Tensor& a, const Lu& lu) {
  return transposed(c.create_graph() ? inv(a) : lu_inverse(lu));
}

}  // namespace

Tensor det(const Tensor& a) {
  const Matrices all = square_matrices("det", "a", a);
  check_finite("det", "a", a);
  const Lu lu = lu_of(a);
  const Tensor y = on_host("det", a, [&]<class T>(const KernelCall& at, T) { return determinants<T>(at, lu, all); });
  return record(det_op, {a}, y, {a, y, lu.factors, lu.pivots},
                [singular = lu.failure.matrix](const BackwardContext& c) -> Tensors {
                  const Tensor of = c.saved(0);
                  const Lu factored{c.saved(2), c.saved(3), {}};
                  if (singular < 0) return {per_matrix(c.grad() * c.saved(1)) * inverse_transposed(c, of, factored)};
                  if (c.create_graph())
                    raise(ErrorKind::numeric, "det: {} is singular: the gradient cannot be differentiated again",
                          matrix_name("a", of.shape(), singular));
                  return {per_matrix(c.grad()) * cofactors(of)};
                });
}

Slogdet slogdet(const Tensor& a) {
  const Matrices all = square_matrices("slogdet", "a", a);
  check_finite("slogdet", "a", a);
  const Lu lu = lu_of(a);
  Slogdet y = on_host("slogdet", a, [&]<class T>(const KernelCall& at, T) { return slogdet_values<T>(at, lu, all); });
  record(slogdet_op, {a}, y.logabsdet, {a, lu.factors, lu.pivots},
         [singular = lu.failure.matrix](const BackwardContext& c) -> Tensors {
           const Tensor of = c.saved(0);
           const Lu factored{c.saved(1), c.saved(2), {}};
           if (singular >= 0)
             raise(ErrorKind::numeric, "slogdet: the gradient does not exist: {} is singular",
                   matrix_name("a", of.shape(), singular));
           return {per_matrix(c.grad()) * inverse_transposed(c, of, factored)};
         });
  return y;
}

Tensor trace(const Tensor& a) {
  const Matrices all = matrices("trace", "a", a);
  const int64_t n = std::min(all.rows, all.columns);
  // In the values of a matrix, those on its diagonal are columns + 1 apart.
  const Tensor values = reshape(a.detach(), all.of(all.size()));
  const int64_t end = n == 0 ? 0 : (n - 1) * (all.columns + 1) + 1;
  const Tensor y = sum(slice(values, -1, {.start = 0, .end = end, .step = all.columns + 1}), {-1});
  return record(trace_op, {a}, y, {}, [m = all.rows, k = all.columns](const BackwardContext& c) -> Tensors {
    const Tensor dy = c.grad();
    const Tensor one = eye(std::max(m, k), dy.options());
    return {per_matrix(dy) * slice(slice(one, 0, {.end = m}), 1, {.end = k})};
  });
}

}  // namespace tape::linalg
