// Factorizations and solutions of matrices of all sizes and scales, checked against their definitions within a few
// roundings.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "autograd/create.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/order.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::linalg {
namespace {

constexpr std::array kBoth{f32, f64};

double close_for(DType dtype) { return dtype == f32 ? 2e-5 : 1e-13; }

Tensor drawn(const Shape& shape, DType dtype, uint64_t seed = 1) { return sample_normal(shape, seed).to(dtype); }

/// a b in f64.
Tensor times(const Tensor& a, const Tensor& b) { return matmul(a.to(f64), b.to(f64)); }

/// Whether the columns of q are orthonormal.
testing::AssertionResult orthonormal(const Tensor& q) {
  return tensors_near(times(transpose(q), q), eye(q.size(-1), f64), close_for(q.dtype()));
}

/// Whether the two agree within the rounding of sums of this many products; `scale` is the size of the values.
testing::AssertionResult rounded(const Tensor& got, const Tensor& wanted, double scale = 1) {
  const double terms = static_cast<double>(wanted.size(-1));
  return tensors_near(got.to(f64) / scale, wanted.to(f64) / scale, close_for(wanted.dtype()) * terms);
}

/// a with the unread parts overwritten: 9 on the diagonal for a unit triangle, NaN in the other triangle.
Tensor spoiled(Tensor a, const TriangularOptions& options) {
  dispatch_floating("spoiled", a.dtype(), [&](auto zero) {
    auto* values = a.mutable_data<decltype(zero)>();
    const int64_t n = a.size(-1);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        if (i == j ? options.unitriangular : (j > i) != options.upper)
          values[i * n + j] = i == j ? decltype(zero)(9) : std::numeric_limits<decltype(zero)>::quiet_NaN();
  });
  return a;
}

TEST(LinalgSizes, SolveTriangularSolvesItsEquations) {
  for (const DType dtype : kBoth)
    for (const int64_t n : {1, 4, 31, 33, 200})
      for (const int64_t k : {1, 5, 83})
        for (int kind = 0; kind < 8; ++kind) {
          const TriangularOptions options{
              .upper = (kind & 1) != 0, .left = (kind & 2) != 0, .unitriangular = (kind & 4) != 0};
          const Tensor beside = drawn({n, n}, dtype) * (0.5 / static_cast<double>(n)),
                       diagonal = eye(n, dtype) * (options.unitriangular ? 1.0 : 2.5),
                       a = (options.upper ? triu(beside, 1) : tril(beside, -1)) + diagonal,
                       b = drawn(options.left ? Shape{n, k} : Shape{k, n}, dtype, 2),
                       x = solve_triangular(spoiled(a.clone(), options), b, options);
          EXPECT_TRUE(rounded(options.left ? times(a, x) : times(x, a), b)) << n << " x " << k << ", kind " << kind;
        }
}

TEST(LinalgSizes, CholeskyFactorsReproduceTheMatrix) {
  for (const DType dtype : kBoth)
    for (const int64_t n : {1, 4, 17, 33, 96, 300}) {
      const Tensor x = drawn({n, n}, dtype),
                   a = times(x, transpose(x)).to(dtype) * (1 / static_cast<double>(n)) + eye(n, dtype), l = cholesky(a);
      EXPECT_TRUE(tensors_equal(l, tril(l))) << n;
      EXPECT_TRUE(rounded(times(l, transpose(l)), a)) << n;
    }
}

TEST(LinalgSizes, CholeskyNamesTheFirstMinorThatIsNotPositive) {
  for (const int64_t n : {5, 100})
    for (int64_t at = 0; at < n; at += 3) {
      Tensor a = eye(n, f64) + 1e-3;
      a.mutable_data<double>()[at * n + at] = at % 2 == 0 ? -1 : 0;
      EXPECT_TAPE_ERROR(cholesky(a), ErrorKind::numeric,
                        fmt::format("cholesky: a [{}, {}] is not positive definite: its leading minor of order {} is "
                                    "not positive",
                                    n, n, at + 1));
    }
}

TEST(LinalgSizes, SolveSolvesItsEquations) {
  for (const DType dtype : kBoth)
    for (const int64_t n : {1, 2, 8, 17, 33, 100, 300}) {
      const Tensor a = drawn({n, n}, dtype), inverse = inv(a);
      const auto largest = [](const Tensor& x) { return 1 + max(abs(x.to(f64))).item(); };
      EXPECT_TRUE(rounded(times(a, inverse), eye(n, dtype), largest(inverse))) << n;
      for (const int64_t k : {1, 7, 40}) {
        const Tensor b = drawn({n, k}, dtype, 2), x = solve(a, b), y = solve(transpose(a), b);
        EXPECT_TRUE(rounded(transpose(times(a, x)), transpose(b), largest(x))) << n << " x " << k;
        EXPECT_TRUE(rounded(transpose(times(transpose(a), y)), transpose(b), largest(y))) << n << " x " << k;
      }
      // |det| is the product of the singular values; exchanging two rows changes its sign.
      const Slogdet whole = slogdet(a);
      EXPECT_NEAR(whole.logabsdet.to(f64).item(), sum(log(svdvals(a).to(f64))).item(),
                  close_for(dtype) * static_cast<double>(n))
          << n;
      if (n == 1) continue;
      Tensor turned = a.clone();
      turned[0].copy_(a[1]);
      turned[1].copy_(a[0]);
      EXPECT_EQ(slogdet(turned).sign.to(f64).item(), -whole.sign.to(f64).item()) << n;
    }
}

TEST(LinalgSizes, SolveNamesTheFirstZeroPivot) {
  for (const int64_t n : {5, 20, 100})
    for (int64_t at = 0; at < n; at += 3) {
      Tensor a = sample_normal({n, n});
      a[at].zero_();
      EXPECT_TAPE_ERROR(inv(a), ErrorKind::numeric,
                        fmt::format("inv: a [{}, {}] is singular: pivot {} is 0", n, n, at + 1));
      EXPECT_EQ(det(a).item(), 0);
    }
}

struct Sized {
  int64_t rows, columns;
  DType dtype = f64;
  double scale = 1;
};

/// Matrices of every form, with values whose squares overflow or underflow.
std::vector<Sized> rectangles() {
  std::vector<Sized> all{
      {40, 35, f32, 1e-30}, {40, 35, f32, 1e30}, {8, 5, f32, 1e37}, {90, 40, f64, 1e200}, {35, 40, f64, 1e-200}};
  for (const DType dtype : kBoth)
    for (const auto& [m, n] : {std::pair{1, 1},
                               {2, 2},
                               {5, 1},
                               {1, 5},
                               {7, 3},
                               {3, 8},
                               {20, 17},
                               {17, 20},
                               {33, 5},
                               {90, 40},
                               {100, 100},
                               {100, 200}})
      all.push_back({m, n, dtype});
  return all;
}

Tensor drawn(const Sized& of) { return (sample_normal({of.rows, of.columns}) * of.scale).to(of.dtype); }

TEST(LinalgSizes, QrFactorsReproduceTheMatrix) {
  for (const Sized& of : rectangles())
    for (const QrMode mode : {QrMode::reduced, QrMode::complete}) {
      SCOPED_TRACE(fmt::format("{} x {} times {}", of.rows, of.columns, of.scale));
      const Tensor a = drawn(of);
      const Qr both = qr(a, mode);
      EXPECT_EQ(both.q.size(-1), mode == QrMode::complete ? of.rows : std::min(of.rows, of.columns));
      EXPECT_TRUE(orthonormal(both.q));
      EXPECT_TRUE(tensors_equal(both.r, triu(both.r)));
      EXPECT_TRUE(rounded(times(both.q, both.r), a, of.scale));
    }
}

TEST(LinalgSizes, QrHasTheSignsOfLapack) {
  const Tensor a = tensor({{3, 1}, {4, 2}}, f64);
  EXPECT_TRUE(tensors_near(qr(a).r, tensor({{-5, -2.2}, {0, 0.4}}, f64), 1e-14));
  // A column that needs no reflection is left unchanged.
  EXPECT_TRUE(tensors_near(qr(tensor({{3, 1}, {0, 2}}, f64)).r, tensor({{3, 1}, {0, 2}}, f64), 0));
}

TEST(LinalgSizes, SvdFactorsReproduceTheMatrix) {
  for (const Sized& of : rectangles())
    for (const bool full : {false, true}) {
      SCOPED_TRACE(fmt::format("{} x {} times {}", of.rows, of.columns, of.scale));
      const Tensor a = drawn(of);
      const Svd all = svd(a, {.full_matrices = full});
      const int64_t k = all.s.size(-1);
      EXPECT_EQ(all.u.shape(), Shape({of.rows, full ? of.rows : k}));
      EXPECT_EQ(all.vh.shape(), Shape({full ? of.columns : k, of.columns}));
      EXPECT_TRUE(orthonormal(all.u));
      EXPECT_TRUE(orthonormal(transpose(all.vh)));
      EXPECT_TRUE(tensors_equal(all.s, sort(all.s, -1, {.descending = true}).values));
      const Tensor scaled = slice(all.u, -1, {.end = k}).to(f64) * all.s.to(f64);
      EXPECT_TRUE(rounded(times(scaled, slice(all.vh, -2, {.end = k})), a, of.scale));
      EXPECT_TRUE(rounded(svdvals(a), all.s, of.scale));
    }
}

TEST(LinalgSizes, EighFactorsReproduceTheMatrix) {
  std::vector<Sized> all{{40, 40, f32, 1e-30}, {40, 40, f32, 1e30}, {40, 40, f64, 1e200}};
  for (const DType dtype : kBoth)
    for (const int64_t n : {1, 2, 3, 9, 17, 33, 100, 200}) all.push_back({n, n, dtype});
  for (const Sized& of : all) {
    SCOPED_TRACE(fmt::format("{} times {}", of.rows, of.scale));
    const Tensor x = drawn(of), a = x + transpose(x);
    const Eigh both = eigh(a);
    EXPECT_TRUE(orthonormal(both.eigenvectors));
    EXPECT_TRUE(tensors_equal(both.eigenvalues, sort(both.eigenvalues).values));
    EXPECT_TRUE(rounded(times(both.eigenvectors.to(f64) * both.eigenvalues.to(f64), transpose(both.eigenvectors)), a,
                        of.scale));
    EXPECT_TRUE(rounded(eigvalsh(a), both.eigenvalues, of.scale));
  }
}

TEST(LinalgSizes, ValuesAreBitwiseEqualWithAndWithoutGradient) {
  for (const int64_t n : {2, 9, 40, 150}) {
    const Tensor x = sample_normal({3, n, n}), a = x + transpose(x);
    EXPECT_TRUE(tensors_equal(eigvalsh(a), eigvalsh(a.clone().requires_grad_()).detach())) << n;
    EXPECT_TRUE(tensors_equal(svdvals(x), svdvals(x.clone().requires_grad_()).detach())) << n;
  }
}

/// Every operation that calls LAPACK, on a batch of square matrices.
Tensors results(const Tensor& a) {
  const Tensor gram = matmul(a, a, {.transpose_b = true}) + eye(a.size(-1), a.dtype());
  const Lstsq least = lstsq(a, gram);
  return {inv(a),        solve(a, gram), solve_triangular(gram, a, {}), slogdet(a).logabsdet, svd(a).u,
          svdvals(a),    qr(a).q,        eigh(gram).eigenvectors,       eigvalsh(gram),       cholesky(gram),
          least.solution};
}

TEST(LinalgSizes, ResultsAreBitwiseEqualAloneAndInABatch) {
  for (const DType dtype : kBoth)
    for (const int64_t n : {1, 4, 8, 21}) {
      const Tensor a = drawn({37, n, n}, dtype);
      const Tensors all = results(a);
      for (const int64_t i : {0, 1, 36}) {
        const Tensors alone = results(a[i]);
        for (size_t r = 0; r < all.size(); ++r) EXPECT_TRUE(tensors_equal(all[r][i], alone[r])) << n << " " << r;
      }
    }
}

TEST(LinalgSizes, AreBitwiseEqualForAnyThreadCount) {
  const int before = kernels::num_threads();
  for (const DType dtype : kBoth) {
    const Tensor a = drawn({5, 120, 120}, dtype);
    kernels::set_num_threads(1);
    const Tensors alone = results(a);
    kernels::set_num_threads(3);
    const Tensors shared = results(a);
    kernels::set_num_threads(before);
    for (size_t r = 0; r < alone.size(); ++r) EXPECT_TRUE(tensors_equal(alone[r], shared[r])) << r;
  }
}

}  // namespace
}  // namespace tape::linalg
