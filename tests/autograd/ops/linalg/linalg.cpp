#include "autograd/ops/linalg.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::linalg {
namespace {

Tensor batch_of(const Tensor& first, const Tensor& second) {
  Tensor both = empty(first.shape().inserted(0, 2), first.dtype());
  both[0].copy_(first);
  both[1].copy_(second);
  return both;
}

/// Full rank, with distinct singular values.
Tensor regularly(const Shape& shape) {
  Tensor a = ones(shape, f64);
  for (int64_t i = 0; i < a.numel(); ++i) a.mutable_data<double>()[i] = std::sin(static_cast<double>(i * i + 1));
  return a;
}

const Tensor identity = eye(2, f64);
const Tensor singular = tensor({{1, 2}, {2, 4}}, f64);
const Tensor with_nan = tensor({{1, 0}, {std::nan(""), 1}}, f64);

TEST(Cholesky, ReturnsTheLowerOrUpperFactor) {
  const Tensor a = tensor({{4, 2}, {2, 5}}, f64);
  EXPECT_TRUE(tensors_near(cholesky(a), tensor({{2, 0}, {1, 2}}, f64), 1e-15));
  EXPECT_TRUE(tensors_near(cholesky(a, {.upper = true}), tensor({{2, 1}, {0, 2}}, f64), 1e-15));
}

TEST(Cholesky, UsesTheSymmetricPartOfNearlySymmetricMatrices) {
  EXPECT_TRUE(tensors_near(cholesky(tensor({{4, 2.001}, {1.999, 5}}, f64)), tensor({{2, 0}, {1, 2}}, f64), 1e-14));
  const Tensor skewed = batch_of(identity, tensor({{4, 2}, {3, 5}}, f64));
  EXPECT_TAPE_ERROR(cholesky(skewed), ErrorKind::numeric,
                    "cholesky: matrix [1] of a [2, 2, 2] is not symmetric: 2 at [0, 1] and 3 at [1, 0]");
  EXPECT_TAPE_ERROR(eigh(skewed), ErrorKind::numeric,
                    "eigh: matrix [1] of a [2, 2, 2] is not symmetric: 2 at [0, 1] and 3 at [1, 0]");
  EXPECT_TAPE_ERROR(eigvalsh(skewed), ErrorKind::numeric,
                    "eigvalsh: matrix [1] of a [2, 2, 2] is not symmetric: 2 at [0, 1] and 3 at [1, 0]");
}

TEST(Cholesky, NamesTheMatrixThatIsNotPositiveDefinite) {
  EXPECT_TAPE_ERROR(cholesky(batch_of(identity, singular)), ErrorKind::numeric,
                    "cholesky: matrix [1] of a [2, 2, 2] is not positive definite: its leading minor of order 2 is not "
                    "positive");
  EXPECT_TAPE_ERROR(cholesky(tensor({{-1}})), ErrorKind::numeric,
                    "cholesky: a [1, 1] is not positive definite: its leading minor of order 1 is not positive");
}

TEST(Linalg, RefusesInvalidShapesAndDtypes) {
  const Tensor a = zeros({2, 3});
  EXPECT_TAPE_ERROR(cholesky(a), ErrorKind::shape, "cholesky: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(inv(a), ErrorKind::shape, "inv: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(det(a), ErrorKind::shape, "det: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(slogdet(a), ErrorKind::shape, "slogdet: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(eigh(a), ErrorKind::shape, "eigh: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(eigvalsh(a), ErrorKind::shape, "eigvalsh: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(matrix_exp(a), ErrorKind::shape, "matrix_exp: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(matrix_power(a, 2), ErrorKind::shape, "matrix_power: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(svd(zeros({3})), ErrorKind::shape, "svd: needs matrices: a [3]");
  EXPECT_TAPE_ERROR(qr(zeros({3})), ErrorKind::shape, "qr: needs matrices: a [3]");
  EXPECT_TAPE_ERROR(trace(zeros({3})), ErrorKind::shape, "trace: needs matrices: a [3]");
  EXPECT_TAPE_ERROR(inv(zeros({2, 2}, i64)), ErrorKind::dtype, "inv: needs f32 or f64, got i64");
  EXPECT_TAPE_ERROR(outer(scalar(1), zeros({2})), ErrorKind::shape, "outer: needs vectors: a [] and b [2]");
}

TEST(Linalg, RefusesNonFiniteValues) {
  const Tensor both = batch_of(identity, with_nan);
  EXPECT_TAPE_ERROR(inv(both), ErrorKind::numeric, "inv: matrix [1] of a [2, 2, 2] has nan at [1, 0]");
  EXPECT_TAPE_ERROR(svd(both), ErrorKind::numeric, "svd: matrix [1] of a [2, 2, 2] has nan at [1, 0]");
  EXPECT_TAPE_ERROR(eigh(both), ErrorKind::numeric, "eigh: matrix [1] of a [2, 2, 2] has nan at [1, 0]");
  EXPECT_TAPE_ERROR(pinv(with_nan), ErrorKind::numeric, "pinv: a [2, 2] has nan at [1, 0]");
  EXPECT_TAPE_ERROR(lstsq(identity, with_nan), ErrorKind::numeric, "lstsq: b [2, 2] has nan at [1, 0]");
  EXPECT_TAPE_ERROR(det(identity * inf), ErrorKind::numeric, "det: a [2, 2] has inf at [0, 0]");
  // The other triangle is not read.
  EXPECT_TRUE(tensors_near(solve_triangular(with_nan, identity, {.upper = true}), identity, 1e-15));
}

TEST(Linalg, AcceptsEmptyMatrices) {
  const Tensor nothing = zeros({2, 0, 0}, f64);
  EXPECT_TRUE(tensors_equal(det(nothing), ones({2}, f64)));
  EXPECT_TRUE(tensors_equal(slogdet(nothing).logabsdet, zeros({2}, f64)));
  for (const Tensor& y : {cholesky(nothing), inv(nothing), matrix_exp(nothing), eigh(nothing).eigenvectors})
    EXPECT_TRUE(tensors_equal(y, nothing));
  const Svd full = svd(zeros({0, 2}, f64));
  EXPECT_TRUE(tensors_equal(full.vh, identity));
  EXPECT_EQ(full.u.shape(), Shape({0, 0}));
  EXPECT_EQ(full.s.shape(), Shape({0}));
  EXPECT_TRUE(tensors_equal(qr(zeros({2, 0}, f64), QrMode::complete).q, identity));
  EXPECT_EQ(qr(zeros({0, 3})).r.shape(), Shape({0, 3}));
  EXPECT_EQ(pinv(zeros({0, 3})).shape(), Shape({3, 0}));
  EXPECT_TRUE(tensors_equal(lstsq(zeros({0, 2}), zeros({0, 3})).solution, zeros({2, 3})));
  EXPECT_TRUE(tensors_equal(lstsq(eye(2), zeros({2, 0})).rank, tensor({2}, i64)[0]));
  EXPECT_EQ(solve(zeros({3, 0, 0}), zeros({0, 2})).shape(), Shape({3, 0, 2}));
  EXPECT_TRUE(tensors_equal(matrix_norm(zeros({0, 3})), scalar(0)));
  EXPECT_TAPE_ERROR(matrix_norm(zeros({0, 3}), 2), ErrorKind::shape,
                    "matrix_norm: order 2 needs non-empty matrices: a [0, 3]");
}

TEST(Qr, HasTheDocumentedShapesInEveryMode) {
  const Tensor tall = regularly({4, 2});
  EXPECT_EQ(qr(tall).q.shape(), Shape({4, 2}));
  const Qr complete = qr(tall, QrMode::complete);
  EXPECT_EQ(complete.r.shape(), Shape({4, 2}));
  EXPECT_TRUE(tensors_near(matmul(complete.q, complete.r), tall, 1e-14));
  EXPECT_TRUE(tensors_near(matmul(complete.q, complete.q, {.transpose_a = true}), eye(4, f64), 1e-14));
  const Qr alone = qr(tall, QrMode::r);
  EXPECT_EQ(alone.q.shape(), Shape({0}));
  EXPECT_TRUE(tensors_equal(alone.r, qr(tall).r));
}

TEST(Qr, RefusesGradientsThatDoNotExist) {
  Tensor a = batch_of(identity, singular).requires_grad_();
  EXPECT_TAPE_ERROR(
      sum(qr(batch_of(identity, tensor({{1, 1}, {0, 0}}, f64)).requires_grad_()).r).backward(), ErrorKind::numeric,
      "qr: the gradient does not exist: matrix [1] of a [2, 2, 2]: its first 2 columns are not independent "
      "(R[1, 1] is 0)");
  EXPECT_TAPE_ERROR(sum(qr(a, QrMode::r).r).backward(), ErrorKind::graph,
                    "qr: mode r has no gradient, as it returns no Q: use mode reduced");
  Tensor tall = ones({3, 1}, f64).requires_grad_();
  EXPECT_TAPE_ERROR(sum(qr(tall, QrMode::complete).r).backward(), ErrorKind::graph,
                    "qr: mode complete has no gradient for a [3, 1], with more rows than columns: use mode "
                    "reduced");
}

TEST(Eigh, RefusesGradientsOfVectorsForEqualEigenvalues) {
  Tensor a = batch_of(tensor({{1, 0}, {0, 3}}, f64), 2 * identity).requires_grad_();
  EXPECT_TAPE_ERROR(
      sum(eigh(a).eigenvectors).backward(), ErrorKind::numeric,
      "eigh: the gradient of the eigenvectors does not exist: matrix [1] of a [2, 2, 2]: eigenvalues 0 and "
      "1 are equal (2 and 2)");
  sum(eigh(a).eigenvalues).backward();
  EXPECT_TRUE(tensors_near(a.grad(), batch_of(identity, identity), 1e-15));
}

TEST(Eigh, HasASymmetricGradient) {
  Tensor a = tensor({{2, 1, 0.5}, {1, 5, -1}, {0.5, -1, 9}}, f64).requires_grad_();
  sum(square(eigh(a).eigenvectors) * tensor({{1, 2, 4}, {0, 3, 0}, {5, 1, 2}}, f64)).backward();
  EXPECT_GT(sum(abs(a.grad())).item(), 0.1);
  EXPECT_TRUE(tensors_near(a.grad(), transpose(a.grad()), 1e-14));
}

TEST(SvdGradient, DoesNotExistForEqualOrZeroSingularValues) {
  Tensor a = batch_of(tensor({{1, 0}, {0, 3}}, f64), identity).requires_grad_();
  EXPECT_TAPE_ERROR(
      sum(svd(a).u).backward(), ErrorKind::numeric,
      "svd: the gradient of the singular vectors does not exist: matrix [1] of a [2, 2, 2]: singular values "
      "0 and 1 are equal (1 and 1)");
  Tensor tall = tensor({{1, 0}, {0, 0}, {0, 0}}, f64).requires_grad_();
  EXPECT_TAPE_ERROR(sum(svd(tall, {.full_matrices = false}).u).backward(), ErrorKind::numeric,
                    "svd: the gradient of the singular vectors does not exist: a [3, 2]: singular value 1 is 0 (0)");
  sum(svd(tall, {.full_matrices = false}).vh).backward();  // does not divide by a singular value
  EXPECT_TRUE(tensors_near(tall.grad(), tall.grad(), 0));
}

TEST(SvdGradient, IsRefusedForTheFreeColumns) {
  Tensor tall = regularly({3, 2}).requires_grad_();
  EXPECT_TAPE_ERROR(sum(square(svd(tall).u) * arange(3, f64)).backward(), ErrorKind::graph,
                    "svd: columns of U beyond 2 are an arbitrary basis and have no gradient: use full_matrices "
                    "= false");
  EXPECT_TAPE_ERROR(sum(square(svd(transpose(tall)).vh) * arange(3, f64) + svd(transpose(tall)).vh).backward(),
                    ErrorKind::graph,
                    "svd: rows of Vh beyond 2 are an arbitrary basis and have no gradient: use full_matrices "
                    "= false");
}

TEST(Solve, NamesTheSingularMatrix) {
  EXPECT_TAPE_ERROR(solve(batch_of(identity, singular), identity), ErrorKind::numeric,
                    "solve: matrix [1] of a [2, 2, 2] is singular: pivot 2 is 0");
  EXPECT_TAPE_ERROR(inv(singular), ErrorKind::numeric, "inv: a [2, 2] is singular: pivot 2 is 0");
  EXPECT_TAPE_ERROR(solve_triangular(batch_of(identity, tensor({{0, 1}, {1, 1}}, f64)), identity, {}),
                    ErrorKind::numeric, "solve_triangular: matrix [1] of a [2, 2, 2] is singular: [0, 0] is 0");
  EXPECT_TAPE_ERROR(matrix_power(singular, -1), ErrorKind::numeric, "inv: a [2, 2] is singular: pivot 2 is 0");
}

TEST(Solve, RefusesMismatchedOperands) {
  EXPECT_TAPE_ERROR(solve(zeros({3, 3}), zeros({4, 2})), ErrorKind::shape,
                    "solve: sizes differ: a [3, 3] and b [4, 2] (3 vs 4)");
  EXPECT_TAPE_ERROR(solve(zeros({3, 3}), zeros({4})), ErrorKind::shape,
                    "solve: sizes differ: a [3, 3] and b [4] (3 vs 4)");
  EXPECT_TAPE_ERROR(solve(eye(3), zeros({3}), {.left = false}), ErrorKind::shape,
                    "solve: b must be matrices for left = false: a [3, 3] and b [3]");
  EXPECT_TAPE_ERROR(solve(eye(3), zeros({3}, f64)), ErrorKind::dtype, "solve: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(solve_triangular(eye(3), zeros({2, 2}), {.left = false}), ErrorKind::shape,
                    "solve_triangular: sizes differ: a [3, 3] and b [2, 2] (3 vs 2)");
  EXPECT_TAPE_ERROR(lstsq(zeros({3, 2}), zeros({2, 2})), ErrorKind::shape,
                    "lstsq: sizes differ: a [3, 2] and b [2, 2] (3 vs 2)");
  EXPECT_TAPE_ERROR(cross(zeros({3}), zeros({2, 1})), ErrorKind::shape,
                    "cross: axis -1 must be of size 3: a [3] and b [2, 1]");
  EXPECT_TAPE_ERROR(kron(zeros({1, 1, 1, 1, 1}), zeros({2})), ErrorKind::shape,
                    "kron: takes at most 4 axes: a [1, 1, 1, 1, 1] and b [2]");
}

TEST(Det, HasOnlyAFirstGradientForSingularMatrices) {
  for (const Tensor& a :
       {singular, tensor({{0}}, f64), zeros({2, 2}, f64), tensor({{1, 2, 3}, {4, 5, 6}, {5, 7, 9}}, f64)})
    EXPECT_TRUE(
        gradients_match(gradcheck([](const Tensors& in) { return det(in[0]); }, {a}, {.allow_zero = {"input 0"}})));
  Tensor both = batch_of(identity, singular).requires_grad_();
  EXPECT_TAPE_ERROR(grad({det(both)}, {both}, {.gradients = {ones({2}, f64)}, .create_graph = true}),
                    ErrorKind::numeric,
                    "det: matrix [1] of a [2, 2, 2] is singular: the gradient cannot be differentiated again");
}

TEST(Slogdet, IsMinusInfinityWithoutGradientForSingularMatrices) {
  Tensor both = batch_of(identity, singular).requires_grad_();
  const Slogdet y = slogdet(both);
  EXPECT_TRUE(tensors_equal(y.sign.detach(), tensor({1, 0}, f64)));
  EXPECT_TRUE(tensors_equal(y.logabsdet.detach(), tensor({0, -inf}, f64)));
  EXPECT_TAPE_ERROR(sum(y.logabsdet).backward(), ErrorKind::numeric,
                    "slogdet: the gradient does not exist: matrix [1] of a [2, 2, 2] is singular");
  EXPECT_FALSE(y.sign.requires_grad());
  EXPECT_EQ(slogdet(eye(400, f64) * -10).sign.item(), 1);  // 10^400 overflows a double
}

TEST(Pinv, TreatsSmallSingularValuesAsZero) {
  const Tensor a = tensor({{2, 0}, {0, 1e-3}}, f64);
  EXPECT_TRUE(tensors_near(pinv(a), tensor({{0.5, 0}, {0, 1e3}}, f64), 1e-14));
  EXPECT_TRUE(tensors_near(pinv(a, {.rtol = 1e-2}), tensor({{0.5, 0}, {0, 0}}, f64), 1e-14));
  EXPECT_TRUE(tensors_near(pinv(a, {.atol = 1e-2}), tensor({{0.5, 0}, {0, 0}}, f64), 1e-14));
  EXPECT_TAPE_ERROR(pinv(a, {.atol = -1}), ErrorKind::config, "pinv: tolerances must not be negative, got -1");
}

TEST(Pinv, UsesEigenvaluesForSymmetricMatrices) {
  const Tensor b = sample_normal({2, 3, 5}, 4), a = matmul(b, b, {.transpose_b = true});
  EXPECT_TRUE(tensors_near(pinv(a, {.hermitian = true}), pinv(a), 1e-11));
  // Rank 2, with a negative eigenvalue.
  const Tensor v = qr(sample_normal({4, 4}, 5)).q, d = tensor({3, -2, 0, 0}, f64);
  const Tensor low = matmul(v * d, v, {.transpose_b = true});
  const Tensor exact = matmul(v * tensor({1. / 3, -0.5, 0, 0}, f64), v, {.transpose_b = true});
  EXPECT_TRUE(tensors_near(pinv(low, {.rtol = 1e-10, .hermitian = true}), exact, 1e-12));
  EXPECT_TRUE(tensors_near(pinv(tensor({{2, 0}, {0, -1e-3}}, f64), {.atol = 1e-2, .hermitian = true}),
                           tensor({{0.5, 0}, {0, 0}}, f64), 1e-14));
  // The gradient is the symmetric part of the general one.
  const Tensor plain = a.clone().requires_grad_(), symmetric = a.clone().requires_grad_(),
               seed = sample_normal({2, 3, 3});
  pinv(plain).backward({.gradient = seed});
  pinv(symmetric, {.hermitian = true}).backward({.gradient = seed});
  const Tensor g = plain.grad();
  EXPECT_TRUE(tensors_near(symmetric.grad(), (g + transpose(g)) / 2, 1e-9));
  EXPECT_EQ(pinv(zeros({2, 0, 0}), {.hermitian = true}).shape(), Shape({2, 0, 0}));
  EXPECT_TAPE_ERROR(pinv(zeros({2, 3}), {.hermitian = true}), ErrorKind::shape,
                    "pinv: needs square matrices: a [2, 3]");
  EXPECT_TAPE_ERROR(pinv(tensor({{1, 2}, {0, 1}}), {.hermitian = true}), ErrorKind::numeric,
                    "pinv: a [2, 2] is not symmetric: 2 at [0, 1] and 0 at [1, 0]");
}

TEST(LeastSquares, ReturnsRankAndResiduals) {
  const Tensor a = tensor({{1, 0}, {0, 1}, {0, 0}}, f64), b = tensor({{1}, {2}, {3}}, f64);
  const Lstsq y = lstsq(a, b);
  EXPECT_TRUE(tensors_near(y.solution, tensor({{1}, {2}}, f64), 1e-15));
  EXPECT_TRUE(tensors_near(y.residuals, tensor({9}, f64), 1e-15));
  EXPECT_EQ(y.rank.item<int64_t>(), 2);
  const Lstsq poor = lstsq(tensor({{1, 1}, {1, 1}, {0, 0}}, f64), squeeze(b, -1));
  EXPECT_EQ(poor.rank.item<int64_t>(), 1);
  EXPECT_EQ(poor.residuals.shape(), Shape({0}));
  EXPECT_TRUE(tensors_near(poor.solution, tensor({0.75, 0.75}, f64), 1e-15));
}

TEST(MatrixNorm, RefusesInvalidOrdersAndAxes) {
  EXPECT_TAPE_ERROR(matrix_norm(identity, 3), ErrorKind::config,
                    "matrix_norm: the order must be 1, 2, inf, -1, -2 or -inf, got 3");
  EXPECT_TAPE_ERROR(matrix_norm(identity, 1, {.rows = -1, .columns = 1}), ErrorKind::config,
                    "matrix_norm: rows and columns are both axis 1");
  EXPECT_TAPE_ERROR(matrix_norm(identity, 1, {.rows = 2}), ErrorKind::index,
                    "matrix_norm: axis 2 is out of range for shape [2, 2]");
}

TEST(MatrixNorm, HasZeroGradientAtZero) {
  Tensor a = zeros({2, 2}, f64).requires_grad_();
  matrix_norm(a).backward();
  EXPECT_TRUE(tensors_equal(a.grad(), zeros({2, 2}, f64)));
}

TEST(MatrixExp, ScalesEachMatrixIndividually) {
  const Tensor nilpotent = tensor({{0, 1}, {0, 0}}, f64);
  Tensor all = empty({3, 2, 2}, f64);
  for (int64_t i = 0; i < 3; ++i) all[i].copy_(nilpotent * (i == 0 ? 1e-9 : i == 1 ? 1.0 : 1e6));
  EXPECT_TRUE(tensors_near(matrix_exp(all), all + identity, 1e-10));
  for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(tensors_equal(matrix_exp(all)[i], matrix_exp(all[i])));
  EXPECT_NEAR(matrix_exp(tensor({{100}}, f64)).item() / std::exp(100.0), 1, 1e-12);
  EXPECT_TAPE_ERROR(matrix_exp(batch_of(identity, 1000 * identity)), ErrorKind::numeric,
                    "matrix_exp: matrix [1] of a [2, 2, 2] overflows");
}

TEST(MatrixPower, IsTheIdentityForExponentZero) {
  EXPECT_TRUE(tensors_equal(matrix_power(batch_of(singular, identity), 0), batch_of(identity, identity)));
  EXPECT_TRUE(tensors_near(matrix_power(singular, 3), matmul(matmul(singular, singular), singular), 1e-15));
}

TEST(Linalg, IsBitwiseEqualForAnyThreadCount) {
  const int before = kernels::num_threads();
  const Tensor a = randn({64, 12, 12}, f64) + eye(12, f64) * 9.0;
  const auto all = [&a] {
    return Tensors{inv(a), svd(a).u, qr(a).r, eigh(a + transpose(a)).eigenvectors,
                   cholesky(matmul(a, a, {.transpose_b = true}))};
  };
  kernels::set_num_threads(1);
  const Tensors alone = all();
  kernels::set_num_threads(4);
  const Tensors shared = all();
  kernels::set_num_threads(before);
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(tensors_equal(alone[i], shared[i])) << i;
}

}  // namespace
}  // namespace tape::linalg
