#include "autograd/xtensor.h"
#include "autograd/ops/linalg.h"

#include <gtest/gtest.h>

#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xrandom.hpp>
#include <xtensor/xview.hpp>

#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Xtensor, ViewsValuesWithoutACopy) {
  Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const auto view = x.as_xtensor<float>();
  EXPECT_EQ(view.data(), x.data<float>());
  ASSERT_EQ(view.dimension(), 2u);
  EXPECT_EQ(view.shape()[0], 2u);
  EXPECT_EQ(view(1, 2), 6.0f);
  EXPECT_EQ(xt::sum(view)(), 21.0f);
  x.mutable_data<float>()[5] = 10;
  EXPECT_EQ(view(1, 2), 10.0f);
}

TEST(Xtensor, WritesThroughAMutableViewAndIncrementsTheVersion) {
  Tensor x = zeros({2, 2}, f64);
  const uint64_t version = x.version();
  mutable_xtensor<double>(x)(1, 0) = 7;
  EXPECT_TRUE(tensors_equal(x, tensor({{0, 0}, {7, 0}}, f64)));
  EXPECT_EQ(x.version(), version + 1);

  Tensor leaf = ones({2}).requires_grad_();
  const Tensor y = square(leaf);
  mutable_xtensor<float>(leaf)(0) = 3;
  EXPECT_TAPE_ERROR(y.backward({.gradient = ones({2})}), ErrorKind::graph,
                    "backward of 'square': a saved value [2] was modified in place (version 2, saved at "
                    "version 1)");
}

TEST(Xtensor, ChecksTheDtype) {
  EXPECT_TAPE_ERROR(ones({2}).as_xtensor<double>(), ErrorKind::dtype, "data: requested f64, but the tensor is f32");
}

TEST(Xtensor, HandlesScalarsAndEmptyTensors) {
  EXPECT_EQ(scalar(3).as_xtensor<float>().dimension(), 0u);
  EXPECT_EQ(scalar(3).as_xtensor<float>()(), 3.0f);
  const Tensor empty_tensor = zeros({2, 0, 3});
  EXPECT_EQ(empty_tensor.as_xtensor<float>().size(), 0u);
  EXPECT_EQ(from_xtensor(empty_tensor.as_xtensor<float>()).shape(), Shape({2, 0, 3}));
  EXPECT_TRUE(tensors_equal(from_xtensor(xt::xarray<double>(2.5)), scalar(2.5, f64)));
  const Tensor taken = from_xtensor(xt::xarray<float>::from_shape({0, 4}));
  EXPECT_EQ(taken.shape(), Shape({0, 4}));
}

TEST(Xtensor, EvaluatesExpressions) {
  const xt::xarray<double> a{{1, 2, 3}, {4, 5, 6}};
  EXPECT_TRUE(tensors_equal(from_xtensor(a * 2 + 1), tensor({{3, 5, 7}, {9, 11, 13}}, f64)));
  EXPECT_TRUE(tensors_equal(from_xtensor(xt::transpose(a)), tensor({{1, 4}, {2, 5}, {3, 6}}, f64)));
  EXPECT_TRUE(tensors_equal(from_xtensor(xt::view(a, xt::all(), 1)), tensor({2, 5}, f64)));
  EXPECT_TRUE(tensors_equal(from_xtensor(a > 3.0), tensor({{0, 0, 0}, {1, 1, 1}}, boolean)));
  EXPECT_TRUE(tensors_equal(from_xtensor(xt::cast<float>(a)), tensor({{1, 2, 3}, {4, 5, 6}})));
  EXPECT_TRUE(tensors_equal(from_xtensor(xt::arange<int>(3)), tensor({0, 1, 2}, i64)));
  EXPECT_TRUE(tensors_equal(from_xtensor(xt::sum(a, {0})), tensor({5, 7, 9}, f64)));
  // Broken by a C++20 bug in xtensor: an evaluated expression must keep its rank.
  EXPECT_EQ(from_xtensor(xt::eval(a + a)).shape(), Shape({2, 3}));
  EXPECT_EQ(from_xtensor(xt::eval(xt::transpose(a))).shape(), Shape({3, 2}));
}

TEST(Xtensor, CopiesLvalueContainers) {
  xt::xarray<float> a{{1, 2}, {3, 4}};
  const Tensor x = from_xtensor(a);
  EXPECT_NE(x.data<float>(), a.data());
  a(0, 0) = 9;
  EXPECT_EQ(x[0][0].item(), 1);
}

template <class C>
void expect_taken_over(C container, const Tensor& expected) {
  const auto* buffer = container.data();
  const Tensor x = from_xtensor(std::move(container));
  EXPECT_EQ(static_cast<const void*>(buffer), x.raw());
  EXPECT_TRUE(tensors_equal(x, expected));
}

TEST(Xtensor, TakesOverMovedContainers) {
  expect_taken_over(xt::xarray<float>{{1, 2}, {3, 4}}, tensor({{1, 2}, {3, 4}}));
  expect_taken_over(xt::xtensor<double, 1>{1, 2}, tensor({1, 2}, f64));
  expect_taken_over(xt::xarray<int64_t>{1, 2}, tensor({1, 2}, i64));
  expect_taken_over(xt::xarray<bool>{true, false}, tensor({1, 0}, boolean));
}

TEST(Xtensor, CopiesColumnMajorContainers) {
  xt::xarray<double, xt::layout_type::column_major> a{{1, 2, 3}, {4, 5, 6}};
  const auto* buffer = a.data();
  const Tensor x = from_xtensor(std::move(a));
  EXPECT_NE(x.data<double>(), buffer);
  EXPECT_TRUE(tensors_equal(x, tensor({{1, 2, 3}, {4, 5, 6}}, f64)));
  xt::xarray<double, xt::layout_type::dynamic> b(std::vector<size_t>{2, 2}, xt::layout_type::column_major);
  b(0, 1) = 1;
  b(0, 0) = b(1, 0) = b(1, 1) = 0;
  EXPECT_TRUE(tensors_equal(from_xtensor(std::move(b)), tensor({{0, 1}, {0, 0}}, f64)));
}

TEST(Xtensor, RefusesMoreAxesThanSupported) {
  EXPECT_TAPE_ERROR(from_xtensor(xt::xarray<float>::from_shape(std::vector<size_t>(9, 1))), ErrorKind::shape,
                    "shape: at most 8 axes are supported, got 9");
}

TEST(Xtensor, IsAnOracleForMatmul) {
  xt::random::seed(7);
  for (const auto& [m, k, n] : {std::array<size_t, 3>{1, 1, 1}, {3, 5, 2}, {17, 33, 9}, {64, 48, 80}}) {
    const xt::xarray<double> a = xt::random::randn<double>({m, k}), b = xt::random::randn<double>({k, n});
    const xt::xarray<double> expected = xt::linalg::dot(a, b);
    EXPECT_TRUE(tensors_near(matmul(from_xtensor(a), from_xtensor(b)), from_xtensor(expected), 1e-12));
    const xt::xarray<float> af = xt::cast<float>(a), bf = xt::cast<float>(b);
    EXPECT_TRUE(
        tensors_near(matmul(from_xtensor(af), from_xtensor(bf)), from_xtensor(xt::cast<float>(expected)), 2e-5));
  }
}

}  // namespace
}  // namespace tape
