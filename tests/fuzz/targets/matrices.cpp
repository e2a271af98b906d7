#include "autograd/ops/linalg.h"
#include "tests/fuzz/operands.h"

namespace tape::fuzz {
namespace {

/// Symmetric, and positive definite if the values are small.
Tensor gram(const Tensor& x) { return matmul(x, x, {.transpose_b = true}); }

/// The corpus contains indices into this list, so the order must not change.
constexpr std::array kMatrices = std::to_array<Operation>({
    [](const Tensors& x, Numbers& from) { return linalg::cholesky(x[0], {.upper = from.flag()}); },
    [](const Tensors& x, Numbers& from) {
      return linalg::cholesky(add(gram(x[0]), eye(x[0].rank() > 1 ? x[0].size(-2) : 1, f64)), {.upper = from.flag()});
    },
    [](const Tensors& x, Numbers& from) {
      return linalg::qr(x[0], from.flag() ? linalg::QrMode::complete : linalg::QrMode::reduced).r;
    },
    [](const Tensors& x, Numbers&) { return linalg::eigh(gram(x[0])).eigenvectors; },
    [](const Tensors& x, Numbers&) { return linalg::eigvalsh(x[0]); },
    [](const Tensors& x, Numbers& from) { return linalg::svd(x[0], {.full_matrices = from.flag()}).u; },
    [](const Tensors& x, Numbers&) { return linalg::svdvals(x[0]); },
    [](const Tensors& x, Numbers& from) { return linalg::solve(x[0], x[1], {.left = from.flag()}); },
    [](const Tensors& x, Numbers& from) {
      return linalg::solve_triangular(x[0], x[1],
                                      {.upper = from.flag(), .left = from.flag(), .unitriangular = from.flag()});
    },
    [](const Tensors& x, Numbers&) { return linalg::inv(x[0]); },
    [](const Tensors& x, Numbers& from) { return linalg::pinv(x[0], {.atol = value_of(from)}); },
    [](const Tensors& x, Numbers& from) { return linalg::lstsq(x[0], x[1], {.rcond = value_of(from)}).solution; },
    [](const Tensors& x, Numbers&) { return linalg::det(x[0]); },
    [](const Tensors& x, Numbers&) { return linalg::slogdet(x[0]).logabsdet; },
    [](const Tensors& x, Numbers&) { return linalg::trace(x[0]); },
    [](const Tensors& x, Numbers& from) {
      const double order = value_of(from);
      return linalg::matrix_norm(x[0], order, {.rows = from.next(), .columns = from.next()});
    },
    [](const Tensors& x, Numbers& from) { return linalg::matrix_power(x[0], from.next()); },
    [](const Tensors& x, Numbers&) { return linalg::matrix_exp(x[0]); },
    [](const Tensors& x, Numbers&) { return linalg::kron(x[0], x[1]); },
    [](const Tensors& x, Numbers& from) { return linalg::cross(x[0], x[1], from.next()); },
    [](const Tensors& x, Numbers&) { return linalg::outer(x[0], x[1]); },
    [](const Tensors& x, Numbers& from) {
      return matmul(x[0], x[1], {.transpose_a = from.flag(), .transpose_b = from.flag()});
    },
});

}  // namespace

/// Linear algebra on arbitrary matrices, including singular ones and NaN.
void fuzz_matrices(Bytes bytes) { run_operations(kMatrices, bytes); }

}  // namespace tape::fuzz
