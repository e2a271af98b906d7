// eigh, eigvalsh.
#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/linalg/samples.h"
#include "autograd/ops/linalg/spectra.h"
#include "autograd/ops/linalg/spectrum.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

std::vector<OpSample> eigh_samples() {
  // The eigenvectors squared, which have no signs.
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) {
                      const Eigh both = eigh(regular_symmetric(in[0]));
                      return cat({mixed(both.eigenvalues, 1), mixed(square(both.eigenvectors), -2)});
                    }};
  };
  const auto function = [](const Tensors& in) {
    const Eigh both = eigh(regular_symmetric(in[0]));
    return product(both.eigenvectors * unsqueeze(tanh(both.eigenvalues * 0.2), -2), both.eigenvectors,
                   {.transpose_b = true});
  };
  return std::vector{of("matrix", {3, 3}), of("batch", {2, 2, 2}), of("size 1", {1, 1}), of("empty", {0, 0}),
                     OpSample{"a function of a matrix", {sample_normal({3, 3})}, function}};
}

/// Giles 2008, 3.1; Seeger et al. 2017, 4.2. A V = V Λ gives dΛ = I ⊙ (Vᵀ dA V) and dV = V (F ⊙ (Vᵀ dA V)), with Fᵢⱼ =
/// 1/(λⱼ − λᵢ) off the diagonal and 0 on it. The gradient is Ā = V (diag λ̄ + F ⊙ (Vᵀ V̄)) Vᵀ, of which the symmetric
/// part counts, as what is factored is (A + Aᵀ) / 2: Vᵀ dV is skew, so that half of Vᵀ V̄ − V̄ᵀ V takes the place of Vᵀ
/// V̄.
const Op eigh_op({.name = "eigh",
                  .formula = {.forward = "y{y} = λ, V · diag(λ) · Vᵀ = a",
                              .backward = {"da{x} = V · (diag(dλ) + F ⊙ (Vᵀ · dV)) · Vᵀ, Fᵢⱼ = 1 / (λⱼ − λᵢ), 0 on the "
                                           "diagonal"}},
                  .samples = eigh_samples});

std::vector<OpSample> eigvalsh_samples() {
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) { return eigvalsh(regular_symmetric(in[0])); }};
  };
  return std::vector{of("matrix", {3, 3}), of("batch", {2, 2, 2}), of("size 1", {1, 1}), of("empty", {2, 0, 0})};
}

/// eigh without V̄.
const Op eigvalsh_op({.name = "eigvalsh",
                      .formula = {.forward = "y{y} = λ, V · diag(λ) · Vᵀ = a",
                                  .backward = {"da{x} = V · diag(dy) · Vᵀ"}},
                      .samples = eigvalsh_samples});

/// Without vectors where nobody asks for them.
Eigh eigh_values(const char* name, const Tensor& a, bool vectors, SpectrumValues which) {
  const Matrices all = square_matrices(name, "a", a);
  check_finite(name, "a", a);
  const int64_t n = all.rows;
  Tensor own = symmetric_part(name, a), w = empty(all.of(n), a.dtype()), v = vectors ? empty_like(own) : Tensor();
  if (n == 0) return {w, v};
  std::vector<int> info(static_cast<size_t>(all.count));
  dispatch_floating(name, a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *matrix = own.mutable_data<T>(), *values = w.mutable_data<T>(), *rows = vectors ? v.mutable_data<T>() : nullptr;
    over_own_matrices(all.count, 4 * static_cast<double>(n * n) * static_cast<double>(n), [&](int64_t i) {
      info[static_cast<size_t>(i)] =
          symmetric_spectrum(n, matrix + i * n * n, values + i * n, vectors ? rows + i * n * n : nullptr, which);
    });
  });
  if (const int64_t broken = first_failure(info); broken >= 0)
    raise(ErrorKind::numeric, "{}: {}: the eigenvalues did not converge", name, which_matrix("a", a.shape(), broken));
  const NoGrad no_grad;
  return {w, vectors ? transpose(v) : Tensor()};
}

/// V diag(d) Vᵀ.
Tensor with_spectrum(const Tensor& v, const Tensor& d) {
  return product(v * unsqueeze(d, -2), v, {.transpose_b = true});
}

}  // namespace

Eigh eigh(const Tensor& a) {
  const Eigh values = eigh_values("eigh", a, true, SpectrumValues::beside_vectors);
  const Tensors both =
      record_many(eigh_op, {a}, {values.eigenvalues, values.eigenvectors}, {values.eigenvalues, values.eigenvectors},
                  [shape = a.shape()](const BackwardContext& c) -> Tensors {
                    const Tensor w = c.saved(0), v = c.saved(1);
                    if (!c.has_grad(1)) return {with_spectrum(v, c.grad(0))};
                    check_distinct("eigh", "eigenvectors", "eigenvalue", w, shape);
                    const Tensor k = product(v, c.grad(1), {.transpose_a = true});
                    const Tensor difference = unsqueeze(w, -2) - unsqueeze(w, -1) + eye(w.size(-1), w.dtype());
                    const Tensor inner = 0.5 * (k - transposed(k)) / difference + diagonal_matrix(c.grad(0));
                    return {product(product(v, inner), v, {.transpose_b = true})};
                  });
  return {both[0], both[1]};
}

// SpectrumValues have the same bits whether a gradient will be asked for or not. Where it will, vectors are found at
// once: in the backward that would take the whole way again.
Tensor eigvalsh(const Tensor& a) {
  const Eigh all = eigh_values("eigvalsh", a, needs_record({a}), SpectrumValues::alone);
  return record(eigvalsh_op, {a}, all.eigenvalues, {a, all.eigenvectors}, [](const BackwardContext& c) -> Tensors {
    return {with_spectrum(c.create_graph() ? eigh(c.saved(0)).eigenvectors : c.saved(1), c.grad())};
  });
}

}  // namespace tape::linalg
