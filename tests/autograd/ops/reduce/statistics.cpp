#include "autograd/ops/reduce/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/rounding.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/product.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Prod, IsOneForEmptyInput) {
  EXPECT_TRUE(tensors_equal(prod(zeros({2, 0}), 1), ones({2})));
  EXPECT_TRUE(tensors_equal(prod(tensor({2, 3}, i64)), scalar(6, i64)));
  EXPECT_TRUE(tensors_equal(prod(tensor({1, 0}, boolean)), scalar(0, i64)));
}

TEST(Prod, HasAGradientForEmptyInput) {
  for (const bool create_graph : {false, true}) {
    const Tensor x = zeros({2, 0, 3}, f64).requires_grad_();
    const Tensor dx = grad({sum(prod(x, {0, 1}) * 2)}, {x}, {.create_graph = create_graph})[0];
    EXPECT_EQ(dx.shape(), x.shape());
  }
}

TEST(Prod, AgreesForLongRowsAndColumns) {
  const Tensor x = 1 + 1e-4 * arange(0, 5, 1e-4, f64);  // more than one chunk of values
  const double whole = prod(x).item(), logs = std::exp(sum(log(x)).item());
  EXPECT_NEAR(whole / logs, 1, 1e-10);
  EXPECT_NEAR(prod(reshape(x, {-1, 2}), 0)[0].item() * prod(reshape(x, {-1, 2}), 0)[1].item() / whole, 1, 1e-10);
}

TEST(Std, HasZeroGradientIfAllValuesAreEqual) {
  const Tensor x = ones({2, 3}, f64).requires_grad_();
  sum(std(x, 1)).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), zeros({2, 3}, f64)));
}

TEST(Std, RoundsHalvesOnce) {
  for (const auto& values : {std::vector<double>{-400, 400, 300}, {1e-4, -1e-4, 2e-4}}) {
    const Tensor x = from_vector(values, {3}).to(f16), wide = x.to(f32);
    EXPECT_TRUE(tensors_equal(std(x), std(wide).to(f16)));
  }
  const Tensor x = tensor({-400, 400, 300}, f16).requires_grad_();
  std(x).backward();
  EXPECT_NEAR(x.grad()[0].item(), -0.5728, 1e-3);
}

TEST(Norm, HasZeroGradientAtZero) {
  for (const double p : {0.5, 1.0, 2.0, 3.0}) {
    const Tensor x = zeros({2, 3}, f64).requires_grad_();
    sum(norm(x, p, 1)).backward();
    EXPECT_TRUE(tensors_equal(x.grad(), zeros({2, 3}, f64))) << p;
    const Tensor gradient = grad({sum(norm(x, p, 1))}, {x}, {.create_graph = true})[0];
    if (!gradient.requires_grad()) continue;  // a sign
    EXPECT_TRUE(tensors_equal(grad({sum(gradient)}, {x}, {.allow_unused = true})[0], zeros({2, 3}, f64))) << p;
  }
}

TEST(Median, ReturnsTheLowerMiddleValueAndHandlesTies) {
  EXPECT_EQ(median(tensor({4, 1, 3, 2})).item(), 2);
  EXPECT_TRUE(std::isnan(median(tensor({4, NAN, 3})).item()));
  const Tensor x = tensor({2, 1, 2, 3, 2}, f64).requires_grad_();
  median(x).backward();
  EXPECT_TRUE(tensors_near(x.grad(), tensor({1 / 3., 0, 1 / 3., 0, 1 / 3.}, f64), 1e-15));
  EXPECT_TRUE(tensors_equal(median(tensor({{3, 1}, {1, 2}, {1, 3}}), 0).indices, tensor({1, 1}, i64)));
}

TEST(Quantile, SupportsAllAxesAndSeveralQuantiles) {
  EXPECT_EQ(quantile(tensor({{4, 1}, {3, 2}}), 0.5).item(), 2.5);
  EXPECT_EQ(quantile(zeros({2, 5}), std::vector<double>{0, 1}, 1, {.dims = Dims::keep}).shape(), Shape({2, 2, 1}));
  EXPECT_EQ(quantile(tensor({-inf, 1, inf}), 0.5).item(), 1);
}

TEST(Allclose, RequiresAllElementsToBeClose) {
  EXPECT_TRUE(allclose(tensor({1, 2}), tensor({1, 2.000005})));
  EXPECT_FALSE(allclose(tensor({1, 2}), tensor({1, 2.001})));
  EXPECT_TRUE(allclose(tensor({1, 2}), tensor({1, 2.001}), {.rtol = 1e-2}));
  EXPECT_FALSE(allclose(tensor({NAN}), tensor({NAN})));
  EXPECT_TRUE(allclose(tensor({3}, i64), tensor({3}, i64)));
  constexpr int64_t kLarge = int64_t{1} << 53, kLeast = std::numeric_limits<int64_t>::min();
  const Tensor numbers = from_vector<int64_t>({kLarge, kLarge + 1, kLeast, 3});
  EXPECT_TRUE(tensors_equal(
      isclose(numbers, from_vector<int64_t>({kLarge + 1, kLarge + 1, -(kLeast + 1), 4}), {.rtol = 0, .atol = 0.5}),
      tensor({0, 1, 0, 0}, boolean)));
  EXPECT_TRUE(
      tensors_equal(isclose(numbers, scalar(kLarge, i64), {.rtol = 0, .atol = 1}), tensor({1, 1, 0, 0}, boolean)));
  EXPECT_TRUE(allclose(numbers, scalar(kLeast, i64), {.rtol = 2, .atol = 0}));
  EXPECT_TAPE_ERROR(isclose(tensor({1}), tensor({1}), {.rtol = -1}), ErrorKind::config,
                    "isclose: the tolerances must not be negative, got rtol -1 and atol 1e-08");
}

TEST(Remainder, HasTheSignOfTheDivisor) {
  for (const DType dtype : {f32, f64}) {
    EXPECT_TRUE(tensors_near(
        remainder(tensor({-5, 5, -5, 1e30, 5, -5, 5}, dtype), tensor({3, -3, inf, 7, NAN, -inf, 0}, dtype)),
        tensor({1, -1, inf, std::fmod(dtype == f32 ? static_cast<double>(1e30F) : 1e30, 7), NAN, -5, NAN}, dtype), 0));
  }
  EXPECT_TRUE(tensors_equal(remainder(tensor({-7, 7}, i64), 4), tensor({1, 3}, i64)));
  EXPECT_TAPE_ERROR(remainder(tensor({1}, i64), tensor({0}, i64)), ErrorKind::config,
                    "remainder: the divisor [1] contains a 0");
}

TEST(Statistics, RefuseInvalidInputsAndOptions) {
  EXPECT_TAPE_ERROR(std(tensor({1})), ErrorKind::shape, "std: 1 values for correction 1 in [1]");
  EXPECT_TAPE_ERROR(std(arange(3)), ErrorKind::dtype, "std: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(median(zeros({2, 0}), 1), ErrorKind::shape, "median: nothing to reduce in [2, 0]");
  EXPECT_TAPE_ERROR(median(zeros({0})), ErrorKind::shape, "median: nothing to reduce in [0]");
  EXPECT_TAPE_ERROR(quantile(tensor({1}), 1.5), ErrorKind::config, "quantile: q must be in [0, 1], got 1.5");
  EXPECT_TAPE_ERROR(quantile(zeros({0}), 0.5, 0), ErrorKind::shape, "quantile: nothing to reduce in [0]");
  EXPECT_TAPE_ERROR(norm(zeros({0}), inf), ErrorKind::shape, "norm: nothing to reduce in [0]");
  EXPECT_TAPE_ERROR(norm(tensor({1}), NAN), ErrorKind::config, "norm: p must be a number, got nan");
  EXPECT_TAPE_ERROR(norm(arange(3)), ErrorKind::dtype, "norm: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(nansum(arange(3)), ErrorKind::dtype, "nansum: needs f32 or f64, got i64");
  EXPECT_EQ(norm(zeros({0}), 2).item(), 0);
}

}  // namespace
}  // namespace tape
