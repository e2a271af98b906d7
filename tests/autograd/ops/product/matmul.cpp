#include "autograd/ops/product/matmul.h"

#include <optional>

#include <gtest/gtest.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// a [m, k] x b [k, n] by definition.
Tensor by_loops(const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  Tensor y = zeros({m, n}, f64);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        y.mutable_data<double>()[i * n + j] += a.data<double>()[i * k + l] * b.data<double>()[l * n + j];
  return y;
}

TEST(Matmul, MultipliesSmallMatrices) {
  EXPECT_TRUE(tensors_equal(matmul(tensor({{1, 2}, {3, 4}}), tensor({{5, 6}, {7, 8}})), tensor({{19, 22}, {43, 50}})));
}

TEST(Matmul, AgreesWithLoopsForManySizesAndTransposes) {
  for (const int64_t m : {1, 2, 7, 33})
    for (const int64_t k : {1, 3, 17})
      for (const int64_t n : {1, 5, 40}) {
        const Tensor a = sample_normal({m, k}, 1), b = sample_normal({k, n}, 2), expected = by_loops(a, b);
        const Tensor at = transpose(a), bt = transpose(b);
        EXPECT_TRUE(tensors_near(matmul(a, b), expected, 1e-12)) << m << " " << k << " " << n;
        EXPECT_TRUE(tensors_near(matmul(at, b, {.transpose_a = true}), expected, 1e-12));
        EXPECT_TRUE(tensors_near(matmul(a, bt, {.transpose_b = true}), expected, 1e-12));
        EXPECT_TRUE(tensors_near(matmul(at, bt, {.transpose_a = true, .transpose_b = true}), expected, 1e-12));
        EXPECT_TRUE(tensors_near(matmul(a.to(f32), b.to(f32)).to(f64), expected, 2e-5));
      }
}

TEST(Matmul, BroadcastsBatches) {
  const Tensor a = sample_normal({2, 1, 3, 4}, 1), b = sample_normal({5, 4, 2}, 2), y = matmul(a, b);
  ASSERT_EQ(y.shape(), Shape({2, 5, 3, 2}));
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 5; ++j) EXPECT_TRUE(tensors_near(y[i][j], by_loops(a[i][0], b[j]), 1e-12));
}

TEST(Matmul, SupportsSharedOperands) {
  const Tensor a = sample_normal({3, 2, 4}, 1), b = sample_normal({4, 5}, 2);
  for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(tensors_near(matmul(a, b)[i], by_loops(a[i], b), 1e-12));
  const Tensor c = sample_normal({5, 2}, 3);
  for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(tensors_near(matmul(c, a)[i], by_loops(c, a[i]), 1e-12));
}

TEST(Matmul, AcceptsVectors) {
  const Tensor v = tensor({1, 2}), m = tensor({{1, 2}, {3, 4}});
  EXPECT_TRUE(tensors_equal(matmul(v, v), scalar(5)));
  EXPECT_TRUE(tensors_equal(matmul(v, m), tensor({7, 10})));
  EXPECT_TRUE(tensors_equal(matmul(m, v), tensor({5, 11})));
  EXPECT_EQ(matmul(v, zeros({3, 4, 2, 5})).shape(), Shape({3, 4, 5}));
  EXPECT_EQ(matmul(zeros({3, 4, 5, 2}), v).shape(), Shape({3, 4, 5}));
}

TEST(Matmul, AcceptsEmptySizes) {
  EXPECT_TRUE(tensors_equal(matmul(zeros({2, 0}), zeros({0, 3})), zeros({2, 3})));
  EXPECT_EQ(matmul(zeros({0, 2}), zeros({2, 3})).shape(), Shape({0, 3}));
  EXPECT_EQ(matmul(zeros({0, 4, 2}), zeros({2, 3})).shape(), Shape({0, 4, 3}));
  EXPECT_EQ(matmul(zeros({3, 4, 2}), zeros({3, 2, 0})).shape(), Shape({3, 4, 0}));
}

TEST(Matmul, AgreesWithPyTorch) {
  expect_case(reference::matmul_batch, {{2, 1, 2, 3}, {3, 3, 2}},
              [](const Tensors& in) { return matmul(in[0], in[1]); });
}

TEST(Matmul, RefusesInvalidShapesAndDtypes) {
  EXPECT_TAPE_ERROR(matmul(zeros({32, 10, 512}), zeros({256, 64})), ErrorKind::shape,
                    "matmul: inner sizes differ: a [32, 10, 512] x b [256, 64] (512 vs 256)");
  EXPECT_TAPE_ERROR(matmul(zeros({3, 2}), zeros({2, 3}), {.transpose_b = true}), ErrorKind::shape,
                    "matmul: inner sizes differ: a [3, 2] x b [2, 3]^T (2 vs 3)");
  EXPECT_TAPE_ERROR(matmul(zeros({2, 2, 3}), zeros({3, 3, 2})), ErrorKind::shape,
                    "matmul: shapes do not broadcast: [2] and [3] (2 vs 3 on axis -1)");
  EXPECT_TAPE_ERROR(matmul(zeros({2, 2}), zeros({2, 2}, f64)), ErrorKind::dtype, "matmul: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(matmul(zeros({2, 2}, i64), zeros({2, 2}, i64)), ErrorKind::dtype,
                    "matmul: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(matmul(zeros({int64_t{1} << 31, 0}), zeros({0, 0})), ErrorKind::shape,
                    "matmul: size 2147483648 exceeds the matrix library's 32-bit limit");
  EXPECT_TAPE_ERROR(matmul(scalar(1), zeros({2})), ErrorKind::shape, "matmul: needs at least one axis: a [] x b [2]");
  EXPECT_TAPE_ERROR(matmul(zeros({2}), zeros({2, 2}), {.transpose_a = true}), ErrorKind::shape,
                    "matmul: a vector cannot be transposed: a [2] x b [2, 2]");
}

TEST(Linear, ComputesXTimesWeightTransposedPlusBias) {
  const Tensor x = sample_normal({2, 3, 4}, 1), w = sample_normal({5, 4}, 2), b = sample_normal({5}, 3);
  EXPECT_TRUE(tensors_near(linear(x, w, b), matmul(x, transpose(w)) + b, 1e-12));
  EXPECT_TRUE(tensors_near(linear(x, w), matmul(x, transpose(w)), 1e-12));
  EXPECT_EQ(linear(x[0][0], w, b).shape(), Shape({5}));
  EXPECT_EQ(linear(zeros({0, 4}, f64), w, b).shape(), Shape({0, 5}));
  EXPECT_TRUE(tensors_equal(linear(zeros({2, 0}), zeros({3, 0}), ones({3})), ones({2, 3})));
}

TEST(Linear, AgreesWithPyTorch) {
  expect_case(reference::linear, {{2, 2, 3}, {4, 3}, {4}},
              [](const Tensors& in) { return linear(in[0], in[1], in[2]); });
}

/// Fused, the bias gradient is computed together with the weight's; composed, each by its own operation.
TEST(Linear, AgreesWithComposedGradients) {
  for (const DType dtype : {f32, f64})
    for (const Shape& rows : {Shape{3, 700}, Shape{5}, Shape{0}}) {
      const auto gradients = [&](bool composed) {
        std::optional<Composed> unfused;
        if (composed) unfused.emplace();
        Tensors in{sample_normal(rows.inserted(rows.rank(), 40), 1).to(dtype), sample_normal({90, 40}, 2).to(dtype),
                   sample_normal({90}, 3).to(dtype)};
        for (Tensor& x : in) x.requires_grad_();
        const Tensor y = linear(in[0], in[1], in[2]);
        return grad({sum(y * cos(y))}, in);
      };
      const Tensors fused = gradients(false), composed = gradients(true);
      for (size_t i = 0; i < fused.size(); ++i)
        EXPECT_TRUE(tensors_near(fused[i], composed[i], dtype == f32 ? 2e-3 : 1e-11)) << i;
    }
}

TEST(Linear, RefusesMismatchedWeightsAndBiases) {
  EXPECT_TAPE_ERROR(linear(zeros({2, 3}), zeros({4, 5})), ErrorKind::shape,
                    "linear: inner sizes differ: x [2, 3] x weight [4, 5] (3 vs 5)");
  EXPECT_TAPE_ERROR(linear(zeros({2, 3}), zeros({3})), ErrorKind::shape, "linear: weight must be [out, in], got [3]");
  EXPECT_TAPE_ERROR(linear(zeros({2, 3}), zeros({4, 3}), zeros({3})), ErrorKind::shape,
                    "linear: bias must be [4], got [3]");
  EXPECT_TAPE_ERROR(linear(zeros({2, 3}), zeros({4, 3}, f64)), ErrorKind::dtype, "linear: dtypes differ: f32 and f64");
}

}  // namespace
}  // namespace tape
