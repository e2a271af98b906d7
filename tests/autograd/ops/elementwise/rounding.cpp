#include "autograd/ops/elementwise/rounding.h"

#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(Round, SupportsPositiveAndNegativeDecimals) {
  const Tensor x = tensor({1.2345, -2.5, 0.125, 1234.5678, -0.04}, f64);
  EXPECT_TRUE(tensors_near(round(x, 2), tensor({1.23, -2.5, 0.12, 1234.57, -0.04}, f64), 1e-15));
  EXPECT_TRUE(tensors_equal(round(x, 0), round(x)));
  EXPECT_TRUE(tensors_equal(round(tensor({1250, -1350, 49, 150}, f64), -2), tensor({1200, -1400, 0, 200}, f64)));
  EXPECT_EQ(round(tensor({1.26}).to(bf16), 1).item(), static_cast<double>(BFloat16(1.3)));
}

TEST(Round, KeepsValuesWithoutDigitsAtThatPosition) {
  const Tensor x = tensor({1.5, -3e300, kInfinite, -kInfinite, 0}, f64);
  EXPECT_TRUE(tensors_equal(round(x, 400), x));
  EXPECT_TRUE(tensors_equal(round(x, INT64_MAX), x));
  EXPECT_TRUE(tensors_equal(round(tensor({1.5, 3e30}), 60), tensor({1.5, 3e30})));
  EXPECT_TRUE(tensors_equal(round(tensor({1.5, -3e300, 0}, f64), -400), tensor({0., -0., 0}, f64)));
  EXPECT_TRUE(tensors_equal(round(x, INT64_MIN), tensor({0, -0., kInfinite, -kInfinite, 0}, f64)));
  EXPECT_TRUE(isnan(round(tensor({NAN}), 3)).item<bool>());
  EXPECT_TAPE_ERROR(round(tensor({1}, i64), 1), ErrorKind::dtype, "round: needs a floating dtype, got i64");
}

TEST(Round, HasZeroGradient) {
  const Tensor x = tensor({1.234, 5.678}, f64).requires_grad_();
  round(x, 1).backward({.gradient = ones({2}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), zeros({2}, f64)));
}

}  // namespace
}  // namespace tape
