// pinv, lstsq.
#include <algorithm>
#include <limits>

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

/// Golub and Pereyra 1973 (The differentiation of pseudo-inverses), 4.12, for rank-preserving changes: with P = A⁺
///   dP = −P dA P + P Pᵀ dAᵀ (I − A P) + (I − P A) dAᵀ Pᵀ P,
/// so Ā = −Pᵀ P̄ Pᵀ + (I − A P) P̄ᵀ P Pᵀ + Pᵀ P P̄ᵀ (I − P A), in the order with the smaller products. If (A + Aᵀ) / 2 is
/// used, the symmetric part of that.
const Op pinv_op({.name = "pinv",
                  .formula = {.forward = "y{y} = a⁺, the pseudoinverse of a{0}",
                              .backward = {"da{x} = <hermitian:the symmetric part of >−yᵀ · dy · yᵀ + (I − a · y) · "
                                           "dyᵀ · y · yᵀ + yᵀ · y · dyᵀ · (I − y · a)"}}});

/// X = A⁺ B, so B̄ = A⁺ᵀ X̄, and Ā is pinv's gradient for P̄ = X̄ Bᵀ.
const Op lstsq_op({.name = "lstsq",
                   .formula = {.forward = "y{y} = a⁺ · b{1}, the minimizer of |a{0} · y − b|",
                               .backward = {"da{x} = the gradient of a⁺ for dy · bᵀ", "db{x} = a⁺ᵀ · dy"},
                               .summed = Summed::batch}});

Tensor pinv_gradient(const Tensor& a, const Tensor& p, const Tensor& dp) {
  const Tensor g = transposed(dp), pt = transposed(p);
  if (a.size(-2) <= a.size(-1)) {
    const Tensor k = product(g, p), k_pt = product(k, pt);
    return k_pt - transposed(product(p, k)) - product(product(a, p), k_pt) + product(product(pt, p), g - product(k, a));
  }
  const Tensor k = product(p, g), pt_k = product(pt, k);
  return pt_k - transposed(product(k, p)) + product(product(g - product(a, k), p), pt) - product(product(pt_k, p), a);
}

/// 1 / s, or 0 for values that count as 0. s are singular values, or eigenvalues compared by magnitude.
Tensor inverted(const Tensor& s, const PinvOptions& options, double rtol) {
  const int64_t k = s.size(-1);
  const Tensor sizes = abs(s), largest = max(sizes, -1);
  Tensor y = empty_like(s);
  on_host("pinv", s, [&]<class T>(const KernelCall& at, T) {
    T* values = at.out<T>(y);
    for (int64_t i = 0; i < s.numel(); ++i) {
      const double bound = std::max(options.atol.value_or(0), rtol * static_cast<double>(at.in<T>(largest)[i / k]));
      values[i] = static_cast<double>(at.in<T>(sizes)[i]) > bound ? 1 / at.in<T>(s)[i] : 0;
    }
  });
  return y;
}

/// V diag(1 / λ) Vᵀ, or V diag(1 / s) Uᵀ.
Tensor pinv_values(const Tensor& a, const PinvOptions& options, double rtol) {
  if (options.hermitian) {
    const Eigh factors = eigh(a);
    const Tensor scaled = factors.eigenvectors * unsqueeze(inverted(factors.eigenvalues, options, rtol), -2);
    return product(scaled, factors.eigenvectors, {.transpose_b = true});
  }
  const Svd factors = svd(a, {.full_matrices = false});
  const Tensor scaled = factors.u * unsqueeze(inverted(factors.s, options, rtol), -2);
  return product(factors.vh, scaled, {.transpose_a = true, .transpose_b = true});
}

double epsilon_of(const Tensor& a) {
  const double eps = a.dtype() == f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  return eps * static_cast<double>(std::max(a.size(-2), a.size(-1)));
}

/// gelsd's results for a and b broadcast to `whole`.
struct Solved {
  Tensor solution, rank, singular_values;
};

Solved lstsq_values(const Tensor& a, const Tensor& b, const Shape& whole, double rcond) {
  const NoGrad no_grad;
  const int64_t m = a.size(-2), n = a.size(-1), k = b.size(-1), length = std::max(m, n), least = std::min(m, n);
  const Matrices all{.batch = whole};
  Solved y{zeros(all.of(n, k), a.options()), zeros(whole, {i64, a.device()}), empty(all.of(least), a.options())};
  if (least == 0 || whole.numel() == 0) return y;
  Tensor matrix = detached_transpose(expand_to(a.detach(), all.of(m, n)));
  const Tensor sides = transpose(expand_to(b.detach(), all.of(m, k)));
  // gelsd needs right-hand sides with room for the solution, and at least one.
  Tensor columns = zeros(all.of(std::max<int64_t>(k, 1), length), a.options());
  if (k > 0) put_slice_(columns, -1, 0, sides);
  const LapackFailure failure = on_host("lstsq", a, [&]<class T>(const KernelCall& at, T) {
    T *matrices = at.out<T>(matrix), *x = at.out<T>(columns), *s = at.out<T>(y.singular_values);
    int64_t* ranks = at.out<int64_t>(y.rank);
    const double work = 8 * static_cast<double>(m * n) * static_cast<double>(least);
    return for_each_matrix(whole.numel(), work, [&](int64_t i) {
      int rank = 0;
      const int info = gelsd(m, n, columns.size(-2), matrices + i * m * n, x + i * columns.size(-2) * length,
                             s + i * least, rcond, rank);
      ranks[i] = rank;
      return info;
    });
  });
  if (failure.matrix >= 0)
    raise(ErrorKind::numeric, "lstsq: {}: the singular values did not converge",
          matrix_name("a", all.of(m, n), failure.matrix));
  if (k > 0) y.solution = transpose(slice(columns, -1, {.end = n}));
  return y;
}

bool all_full_rank(const Tensor& rank, int64_t n) { return all(eq(rank, n)).item<bool>(); }

}  // namespace

Tensor pinv(const Tensor& a, const PinvOptions& options) {
  const Matrices all = options.hermitian ? square_matrices("pinv", "a", a) : matrices("pinv", "a", a);
  check_finite("pinv", "a", a);
  for (const double bound : {options.atol.value_or(0), options.rtol.value_or(0)})
    if (!(bound >= 0)) raise(ErrorKind::config, "pinv: tolerances must not be negative, got {}", bound);
  const double rtol = options.rtol.value_or(options.atol.value_or(0) > 0 ? 0 : epsilon_of(a));
  Tensor p = zeros(all.of(all.columns, all.rows), a.options());
  if (p.numel() > 0) {
    const NoGrad no_grad;
    p = pinv_values(options.hermitian ? symmetric_part("pinv", a) : a.detach(), options, rtol);
  }
  return record(pinv_op, {a}, p, {a, p},
                [hermitian = options.hermitian](const BackwardContext& c) -> Tensors {
                  const Tensor da = pinv_gradient(c.saved(0), c.saved(1), c.grad());
                  return {hermitian ? 0.5 * (da + transposed(da)) : da};
                },
                {{"hermitian", options.hermitian}});
}

Lstsq lstsq(const Tensor& a, const Tensor& b, const LstsqOptions& options) {
  check_same_dtype("lstsq", a, b);
  const Matrices own = matrices("lstsq", "a", a);
  const bool vector = is_vector_of(a, b);
  const Tensor sides = vector ? unsqueeze(b, -1) : b;
  const Matrices right = matrices("lstsq", "b", sides);
  check_rhs("lstsq", a, b, own.rows, right.rows);
  check_finite("lstsq", "a", a);
  check_finite("lstsq", "b", sides);
  const double rcond = options.rcond.value_or(epsilon_of(a));
  const Shape whole = broadcast_shapes("lstsq", own.batch, right.batch);
  const Solved solved = lstsq_values(a, sides, whole, rcond);
  const Tensor x =
      record(lstsq_op, {a, sides}, solved.solution, {a, sides}, [rcond](const BackwardContext& c) -> Tensors {
        const Tensor matrix = c.saved(0), dy = c.grad(), p = pinv(matrix, {.rtol = rcond});
        Tensor da, db;
        if (c.needs(0)) da = pinv_gradient(matrix, p, product(dy, c.saved(1), {.transpose_b = true}));
        if (c.needs(1)) db = product(p, dy, {.transpose_a = true});
        return {da, db};
      });
  const bool with_residuals = own.rows > own.columns && all_full_rank(solved.rank, own.columns);
  Tensor residuals = with_residuals ? sum(square(product(a, x) - sides), -2) : zeros({0}, a.options());
  if (vector && with_residuals) residuals = squeeze(residuals, -1);
  return {vector ? squeeze(x, -1) : x, residuals, solved.rank, solved.singular_values};
}

}  // namespace tape::linalg
