// svd, svdvals.
#include <limits>

#include "autograd/create.h"
#include "autograd/kernels/matrix_lanes.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/join.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/linalg/samples.h"
#include "autograd/ops/linalg/spectrum.h"
#include "autograd/ops/op.h"
#include "autograd/ops/shape.h"
#include "autograd/ops/unary.h"

namespace tape::linalg {
namespace {

/// What does not depend on signs: squares, and the orthogonal factor of the polar decomposition.
Tensor svd_invariants(const Svd& all) {
  const int64_t k = all.s.size(-1);
  const Tensor u = slice(all.u, -1, {.end = k}), vh = slice(all.vh, -2, {.end = k});
  return cat({mixed(square(u), 1), mixed(all.s, -1), mixed(square(vh), 2), mixed(product(u, vh), -2)});
}

std::vector<OpSample> svd_samples() {
  const auto of = [](const char* label, const Shape& a, bool full = false) {
    return OpSample{label, {sample_normal(a)}, [full](const Tensors& in) {
                      return svd_invariants(svd(regular_rectangle(in[0]), {.full_matrices = full}));
                    }};
  };
  return std::vector{of("square", {3, 3}),
                     of("tall", {4, 2}),
                     of("wide, a batch", {2, 2, 3}),
                     of("full", {3, 2}, true),
                     of("size 1", {1, 1}),
                     of("empty", {2, 0}),
                     OpSample{"singular values of a row", {sample_normal({1, 3})}, [](const Tensors& in) {
                                return svd(regular_rectangle(in[0])).s;
                              }}};
}

/// Townsend 2016 (Differentiating the singular value decomposition); Giles 2008, 3.2. With Eᵢⱼ = sⱼ² − sᵢ² off the
/// diagonal and 1 on it, and skew X = X − Xᵀ:
///   Ā = U [ (skew(Uᵀ Ū) / E) S + S (skew(Vᵀ V̄) / E) + diag s̄ ] Vᵀ + (I − U Uᵀ) Ū S⁻¹ Vᵀ + U S⁻¹ V̄ᵀ (I − V Vᵀ),
/// the last two where U or V are not square.
const Op svd_op(
    {.name = "svd",
     .formula = {.forward = "y{y} = U, U · diag(s) · Vᵀ = a{0}",
                 .backward = {"da{x} = U · (skew(Uᵀ · dU)/E · S + S · skew(Vᵀ · dV)/E + diag(ds)) · Vᵀ, Eᵢⱼ "
                              "= sⱼ² − sᵢ², and what dU and dV have outside of U and V"}},
     .samples = svd_samples});

std::vector<OpSample> svdvals_samples() {
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) { return svdvals(regular_rectangle(in[0])); }};
  };
  return std::vector{of("square", {3, 3}), of("tall", {3, 2}), of("wide, a batch", {2, 2, 3}), of("empty", {0, 2})};
}

/// svd without Ū and V̄.
const Op svdvals_op({.name = "svdvals",
                     .formula = {.forward = "y{y} = s, U · diag(s) · Vᵀ = a{0}",
                                 .backward = {"da{x} = U · diag(dy) · Vᵀ"}},
                     .samples = svdvals_samples});

/// By job 'A' (full), 'S' (reduced) or 'N' (values alone).
Svd svd_values(const char* name, const Tensor& a, char job) {
  const Matrices all = matrices(name, "a", a);
  check_finite(name, "a", a);
  const int64_t m = all.rows, n = all.columns, k = std::min(m, n);
  const int64_t columns = job == 'N' ? 0 : job == 'A' ? m : k, rows = job == 'N' ? 0 : job == 'A' ? n : k;
  const NoGrad no_grad;
  Tensor s = empty(all.of(k), a.dtype());
  if (k == 0)
    return {zeros(all.of(m, columns), a.dtype()) + slice(eye(m, a.dtype()), 1, {.end = columns}), s,
            zeros(all.of(rows, n), a.dtype()) + slice(eye(n, a.dtype()), 0, {.end = rows})};
  Tensor u = empty(all.of(m, columns), a.dtype()), vh = empty(all.of(rows, n), a.dtype()), work = own_copy(a);
  std::vector<int> info(static_cast<size_t>(all.count));
  dispatch_floating(name, a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *matrix = work.mutable_data<T>(), *values = s.mutable_data<T>(), *left = u.mutable_data<T>(),
      *right = vh.mutable_data<T>();
    if (job == 'N' && std::max(m, n) <= kernels::kMostInLanes) {
      const Tensor columns_longer = n < m ? own_transposed(a) : a;
      return over_parts(all.count, 8 * static_cast<double>(m * n) * static_cast<double>(k),
                        [&](int64_t first, int64_t last) {
                          kernels::matrix_lanes<T>().singular_values(last - first, std::max(m, n), k,
                                                                     columns_longer.data<T>() + first * m * n,
                                                                     values + first * k, info.data() + first);
                        });
    }
    // Column-major a is aᵀ = V diag(s) Uᵀ: its left vectors, column-major, are the rows of Vh, and so on.
    over_matrices(all.count, 8 * static_cast<double>(m * n) * static_cast<double>(k), [&](int64_t i) {
      info[static_cast<size_t>(i)] =
          gesdd(job, n, m, matrix + i * m * n, values + i * k, right + i * rows * n, left + i * m * columns);
    });
  });
  if (const int64_t broken = first_failure(info); broken >= 0)
    raise(ErrorKind::numeric, "{}: {}: the singular values did not converge", name,
          which_matrix("a", a.shape(), broken));
  return {u, s, vh};
}

/// Throws where the least singular value of a matrix is 0, or as good as 0, which the gradient divides by.
void check_positive(const Tensor& s, const Shape& shape) {
  const int64_t k = s.size(-1);
  dispatch_floating("svd", s.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < s.numel(); i += k) {
      const T* own = s.data<T>() + i;
      if (own[k - 1] <= std::numeric_limits<T>::epsilon() * own[0])
        raise(ErrorKind::numeric,
              "svd: the gradient of the singular vectors does not exist: {}: singular value {} is 0 ({})",
              which_matrix("a", shape, i / k), k - 1, own[k - 1]);
    }
  });
}

/// The gradient's part of the k vectors that belong to singular values. Throws where the others have one, too.
Tensor first_part(const Tensor& gradient, int64_t axis, int64_t k, const char* what) {
  if (gradient.size(axis) == k) return gradient;
  const Tensor rest = slice(gradient.detach(), axis, {.start = k});
  const auto any = [&](auto zero) {
    const auto* values = rest.data<decltype(zero)>();
    return std::any_of(values, values + rest.numel(), [](auto value) { return value != 0; });
  };
  if (dispatch_floating("svd", rest.dtype(), any))
    raise(ErrorKind::graph,
          "svd: {} beyond {} are any basis of what is left, and have no gradient: take full_matrices "
          "= false",
          what, k);
  return slice(gradient, axis, {.end = k});
}

Tensor skew(const Tensor& x) { return x - transposed(x); }

/// The gradient for reduced u, s, vh; what lies outside of U and V where `outside_u` and `outside_v` say so.
Tensor svd_gradient(const Svd& all, const Svd& gradients, bool outside_u, bool outside_v) {
  const auto& [u, s, vh] = all;
  const auto& [du, ds, dvh] = gradients;
  const int64_t k = s.size(-1);
  const Tensor row = unsqueeze(s, -2), column = unsqueeze(s, -1);
  const Tensor e = (row - column) * (row + column) + eye(k, s.dtype());
  const Tensor ut_du = product(u, du, {.transpose_a = true}), vt_dv = product(vh, dvh, {.transpose_b = true});
  const Tensor inner = skew(ut_du) / e * row + column * (skew(vt_dv) / e) + diagonal_matrix(ds);
  Tensor left = product(u, inner);
  if (outside_u) left = left + (du - product(u, ut_du)) / row;
  Tensor da = product(left, vh);
  if (outside_v) da = da + product(u, (dvh - product(vt_dv, vh, {.transpose_a = true})) / column);
  return da;
}

}  // namespace

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
                    check_distinct("svd", "singular vectors", "singular value", s, shape);
                    const bool outside_u = m > k && c.has_grad(0), outside_v = n > k && c.has_grad(2);
                    if (outside_u || outside_v) check_positive(s, shape);
                    return {svd_gradient({u, s, vh}, {du, c.grad(1), dvh}, outside_u, outside_v)};
                  });
  return {all[0], all[1], all[2]};
}

// Values have the same bits whether a gradient will be asked for or not: LAPACK finds other ones beside vectors, which
// are therefore left to the backward.
Tensor svdvals(const Tensor& a) {
  return record(svdvals_op, {a}, svd_values("svdvals", a, 'N').s, {a}, [](const BackwardContext& c) -> Tensors {
    const Svd all = svd(c.saved(0), {.full_matrices = false});
    return {product(all.u * unsqueeze(c.grad(), -2), all.vh)};
  });
}

}  // namespace tape::linalg
