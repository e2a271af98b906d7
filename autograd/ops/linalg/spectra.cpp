// eigh, eigvalsh, svd, svdvals.
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

/// Giles 2008, 3.1; Seeger et al. 2017, 4.2. A V = V Λ gives dΛ = I ⊙ (Vᵀ dA V) and dV = V (F ⊙ (Vᵀ dA V)), with Fᵢⱼ =
/// 1/(λⱼ − λᵢ) off the diagonal and 0 on it. The gradient is the symmetric part of Ā = V (diag λ̄ + F ⊙ (Vᵀ V̄)) Vᵀ,
/// since (A + Aᵀ) / 2 is factored. As Vᵀ dV is skew-symmetric, (Vᵀ V̄ − V̄ᵀ V) / 2 replaces Vᵀ V̄.
const Op eigh_op({.name = "eigh",
                  .formula = {.forward = "y{y} = λ, V · diag(λ) · Vᵀ = a",
                              .backward = {"da{x} = V · (diag(dλ) + F ⊙ (Vᵀ · dV)) · Vᵀ, Fᵢⱼ = 1 / (λⱼ − λᵢ), 0 on the "
                                           "diagonal"}}});

/// eigh without V̄.
const Op eigvalsh_op({.name = "eigvalsh",
                      .formula = {.forward = "y{y} = λ, V · diag(λ) · Vᵀ = a",
                                  .backward = {"da{x} = V · diag(dy) · Vᵀ"}}});

/// Townsend 2016 (Differentiating the singular value decomposition); Giles 2008, 3.2. With Eᵢⱼ = sⱼ² − sᵢ² off the
/// diagonal and 1 on it, and skew X = X − Xᵀ:
///   Ā = U [ (skew(Uᵀ Ū) / E) S + S (skew(Vᵀ V̄) / E) + diag s̄ ] Vᵀ + (I − U Uᵀ) Ū S⁻¹ Vᵀ + U S⁻¹ V̄ᵀ (I − V Vᵀ),
/// the last two terms if U or V is not square.
const Op svd_op({.name = "svd",
                 .formula = {
                     .forward = "y{y} = U, U · diag(s) · Vᵀ = a{0}",
                     .backward = {"da{x} = U · (skew(Uᵀ · dU)/E · S + S · skew(Vᵀ · dV)/E + diag(ds)) · Vᵀ, Eᵢⱼ "
                                  "= sⱼ² − sᵢ², plus the parts of dU and dV outside of U and V"}}});

/// svd without Ū and V̄.
const Op svdvals_op({.name = "svdvals",
                     .formula = {.forward = "y{y} = s, U · diag(s) · Vᵀ = a{0}",
                                 .backward = {"da{x} = U · diag(dy) · Vᵀ"}}});

/// Throws if two adjacent values of sorted `values` [..., n] are equal up to rounding: within 8 eps of the largest.
/// `vectors` and `value` are their names in messages.
void check_separated(const char* operation, const char* vectors, const char* value, const Tensor& values,
                     const Shape& shape) {
  const int64_t n = values.size(-1);
  if (n < 2) return;
  on_host(operation, values, [&]<class T>(const KernelCall& at, T) {
    const T* all = at.in<T>(values);
    for (int64_t i = 0; i < values.numel(); ++i) {
      const int64_t place = i % n;
      if (place + 1 == n) continue;
      const T* own = all + i - place;
      const T bound = 8 * std::numeric_limits<T>::epsilon() * std::max(std::abs(own[0]), std::abs(own[n - 1]));
      if (std::abs(own[place + 1] - own[place]) <= bound)
        raise(ErrorKind::numeric, "{}: the gradient of the {} does not exist: {}: {}s {} and {} are equal ({} and {})",
              operation, vectors, matrix_name("a", shape, i / n), value, place, place + 1, own[place], own[place + 1]);
    }
  });
}

/// Eigenvalues and, if requested, eigenvectors; LAPACK writes these over the matrix, one per row.
Eigh eigh_values(const char* name, const Tensor& a, bool vectors) {
  const Matrices all = square_matrices(name, "a", a);
  check_finite(name, "a", a);
  const int64_t n = all.rows;
  Tensor v = symmetric_part(name, a), w = empty(all.of(n), a.options());
  if (n == 0) return {w, v};
  const LapackFailure failure = on_host(name, a, [&]<class T>(const KernelCall& at, T) {
    T *rows = at.out<T>(v), *values = at.out<T>(w);
    return for_each_matrix(all.count, 4 * static_cast<double>(n * n) * static_cast<double>(n),
                           [&](int64_t i) { return syevd(vectors, n, rows + i * n * n, values + i * n); });
  });
  if (failure.matrix >= 0)
    raise(ErrorKind::numeric, "{}: {}: the eigenvalues did not converge", name,
          matrix_name("a", a.shape(), failure.matrix));
  return {w, vectors ? transpose(v) : Tensor()};
}

/// V diag(d) Vᵀ.
Tensor with_spectrum(const Tensor& v, const Tensor& d) {
  return product(v * unsqueeze(d, -2), v, {.transpose_b = true});
}

/// SVD with LAPACK's job: N, only the singular values; S, reduced; A, all columns of U and rows of Vh. A row-major a is
/// aᵀ = V diag(s) Uᵀ to LAPACK, whose factors are row-major Vh and U.
Svd svd_values(const char* name, const Tensor& a, char job) {
  const Matrices all = matrices(name, "a", a);
  check_finite(name, "a", a);
  const int64_t m = all.rows, n = all.columns, k = std::min(m, n), few = job == 'S' ? k : 0;
  const int64_t columns = job == 'A' ? m : few, rows = job == 'A' ? n : few;
  Svd y{empty(all.of(m, columns), a.options()), empty(all.of(k), a.options()), empty(all.of(rows, n), a.options())};
  if (k == 0)
    return {expand_to(slice(eye(m, a.options()), 1, {.end = columns}), y.u.shape()), y.s,
            expand_to(slice(eye(n, a.options()), 0, {.end = rows}), y.vh.shape())};
  Tensor work = detached_copy(a);
  const LapackFailure failure = on_host(name, a, [&]<class T>(const KernelCall& at, T) {
    T *const matrix = at.out<T>(work), *const values = at.out<T>(y.s);
    T *const u = at.out<T>(y.u), *const vh = at.out<T>(y.vh);
    return for_each_matrix(all.count, 8 * static_cast<double>(m * n) * static_cast<double>(k), [&](int64_t i) {
      return gesdd(job, n, m, matrix + i * m * n, values + i * k, vh + i * rows * n, u + i * m * columns);
    });
  });
  if (failure.matrix >= 0)
    raise(ErrorKind::numeric, "{}: {}: the singular values did not converge", name,
          matrix_name("a", a.shape(), failure.matrix));
  return y;
}

/// Throws if the smallest singular value of a matrix, by which the gradient divides, is 0 up to rounding.
void check_positive(const Tensor& s, const Shape& shape) {
  const int64_t k = s.size(-1);
  on_host("svd", s, [&]<class T>(const KernelCall& at, T) {
    for (int64_t i = 0; i < s.numel(); i += k) {
      const T* own = at.in<T>(s) + i;
      if (own[k - 1] <= std::numeric_limits<T>::epsilon() * own[0])
        raise(ErrorKind::numeric,
              "svd: the gradient of the singular vectors does not exist: {}: singular value {} is 0 ({})",
              matrix_name("a", shape, i / k), k - 1, own[k - 1]);
    }
  });
}

/// The gradient of the k vectors that belong to singular values. Throws if the other vectors have a gradient.
Tensor first_part(const Tensor& gradient, int64_t axis, int64_t k, const char* what) {
  if (gradient.size(axis) == k) return gradient;
  const Tensor rest = slice(gradient.detach(), axis, {.start = k});
  if (any(ne(rest, 0)).item<bool>())
    raise(ErrorKind::graph,
          "svd: {} beyond {} are an arbitrary basis and have no gradient: use full_matrices "
          "= false",
          what, k);
  return slice(gradient, axis, {.end = k});
}

Tensor skew(const Tensor& x) { return x - transposed(x); }

/// The gradient for reduced u, s, vh. `outside_u` and `outside_v` include the parts outside of U and V.
Tensor svd_gradient(const Svd& all, const Svd& gradients, bool outside_u, bool outside_v) {
  const auto& [u, s, vh] = all;
  const auto& [du, ds, dvh] = gradients;
  const int64_t k = s.size(-1);
  const Tensor row = unsqueeze(s, -2), column = unsqueeze(s, -1);
  const Tensor e = (row - column) * (row + column) + eye(k, s.options());
  const Tensor ut_du = product(u, du, {.transpose_a = true}), vt_dv = product(vh, dvh, {.transpose_b = true});
  const Tensor inner = skew(ut_du) / e * row + column * (skew(vt_dv) / e) + diagonal_matrix(ds);
  Tensor left = product(u, inner);
  if (outside_u) left = left + (du - product(u, ut_du)) / row;
  Tensor da = product(left, vh);
  if (outside_v) da = da + product(u, (dvh - product(vt_dv, vh, {.transpose_a = true})) / column);
  return da;
}

}  // namespace

Eigh eigh(const Tensor& a) {
  const Eigh values = eigh_values("eigh", a, true);
  const Tensors both =
      record_many(eigh_op, {a}, {values.eigenvalues, values.eigenvectors}, {values.eigenvalues, values.eigenvectors},
                  [shape = a.shape()](const BackwardContext& c) -> Tensors {
                    const Tensor w = c.saved(0), v = c.saved(1);
                    if (!c.has_grad(1)) return {with_spectrum(v, c.grad(0))};
                    check_separated("eigh", "eigenvectors", "eigenvalue", w, shape);
                    const Tensor k = product(v, c.grad(1), {.transpose_a = true});
                    const Tensor difference = unsqueeze(w, -2) - unsqueeze(w, -1) + eye(w.size(-1), w.options());
                    const Tensor inner = 0.5 * (k - transposed(k)) / difference + diagonal_matrix(c.grad(0));
                    return {product(product(v, inner), v, {.transpose_b = true})};
                  });
  return {both[0], both[1]};
}

// The forward pass does not use eigh(): LAPACK's values differ in the last bits when it also computes vectors, and
// values must not depend on whether a gradient is recorded.
Tensor eigvalsh(const Tensor& a) {
  return record(
      eigvalsh_op, {a}, eigh_values("eigvalsh", a, false).eigenvalues, {a},
      [](const BackwardContext& c) -> Tensors { return {with_spectrum(eigh(c.saved(0)).eigenvectors, c.grad())}; });
}

Svd svd(const Tensor& a, const SvdOptions& options) {
  const Svd values = svd_values("svd", a, options.full_matrices ? 'A' : 'S');
  const Tensors all =
      record_many(svd_op, {a}, {values.u, values.s, values.vh}, {values.u, values.s, values.vh},
                  [shape = a.shape()](const BackwardContext& c) -> Tensors {
                    const Tensor s = c.saved(1);
                    const int64_t m = shape[shape.rank() - 2], n = shape[shape.rank() - 1], k = s.size(-1);
                    const Tensor u = slice(c.saved(0), -1, {.end = k}), vh = slice(c.saved(2), -2, {.end = k});
                    if (!c.has_grad(0) && !c.has_grad(2)) return {product(u * unsqueeze(c.grad(1), -2), vh)};
                    const Tensor du = first_part(c.grad(0), -1, k, "columns of U");
                    const Tensor dvh = first_part(c.grad(2), -2, k, "rows of Vh");
                    check_separated("svd", "singular vectors", "singular value", s, shape);
                    const bool outside_u = m > k && c.has_grad(0), outside_v = n > k && c.has_grad(2);
                    if (outside_u || outside_v) check_positive(s, shape);
                    return {svd_gradient({u, s, vh}, {du, c.grad(1), dvh}, outside_u, outside_v)};
                  });
  return {all[0], all[1], all[2]};
}

// The forward pass does not use svd(), for the same reason as in eigvalsh().
Tensor svdvals(const Tensor& a) {
  return record(svdvals_op, {a}, svd_values("svdvals", a, 'N').s, {a}, [](const BackwardContext& c) -> Tensors {
    const Svd all = svd(c.saved(0), {.full_matrices = false});
    return {product(all.u * unsqueeze(c.grad(), -2), all.vh)};
  });
}

}  // namespace tape::linalg
