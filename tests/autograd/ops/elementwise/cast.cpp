#include "autograd/ops/elementwise/cast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Cast, ConvertsBetweenAllDtypes) {
  for (const DType from : every_dtype)
    for (const DType to : every_dtype)
      EXPECT_TRUE(tensors_equal(cast(tensor({0, 1}, from), to), tensor({0, 1}, to)))
          << to_string(from) << " to " << to_string(to);
}

TEST(Cast, TruncatesTowardZero) {
  EXPECT_TRUE(tensors_equal(cast(tensor({1.9, -1.9, 0.5}), i64), tensor({1, -1, 0}, i64)));
  EXPECT_TRUE(tensors_equal(cast(tensor({0.1, 0, -3, NAN}), boolean), tensor({1, 0, 1, 1}, boolean)));
}

TEST(Cast, RoundsToF32) { EXPECT_EQ(cast(scalar(0.1, f64), f32).item(), static_cast<double>(0.1f)); }

TEST(Cast, ReturnsTheTensorItselfForItsOwnDtype) {
  const Tensor x = tensor({1});
  EXPECT_TRUE(cast(x, f32).is(x));
}

TEST(Cast, ReturnsTheGradientInTheInputDtype) {
  const Tensor x = tensor({1, 2}, f32).requires_grad_();
  sum(square(cast(x, f64))).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({2, 4}, f32)));
}

TEST(Cast, ReturnsTheGradientThroughAHalf) {
  for (const DType half : {f16, bf16}) {
    const Tensor x = tensor({1, 2}).requires_grad_(), y = cast(x, half);
    EXPECT_TRUE(y.requires_grad());
    cast(y, f32).backward({.gradient = tensor({0.5, 1.001})});
    EXPECT_TRUE(tensors_equal(x.grad(), tensor({0.5, 1.001}).to(half).to(f32)));
  }
}

TEST(Cast, IsNotRecordedToIntegers) {
  const Tensor x = tensor({1, 2}).requires_grad_();
  EXPECT_FALSE(cast(x, i64).requires_grad());
  EXPECT_FALSE(cast(x, boolean).requires_grad());
}

TEST(Cast, RefusesValuesThatDoNotFit) {
  EXPECT_TAPE_ERROR(cast(tensor({NAN}), i64), ErrorKind::numeric, "cast: nan does not fit i64");
  EXPECT_TAPE_ERROR(cast(tensor({INFINITY}, f64), i64), ErrorKind::numeric, "cast: inf does not fit i64");
  EXPECT_TAPE_ERROR(cast(tensor({1e19}, f64), i64), ErrorKind::numeric, "cast: 1e+19 does not fit i64");
  EXPECT_TAPE_ERROR(cast(tensor({INFINITY}, bf16), i32), ErrorKind::numeric, "cast: inf does not fit i32");
  EXPECT_TAPE_ERROR(cast(tensor({2147483648}), i32), ErrorKind::numeric, "cast: 2147483648 does not fit i32");
  EXPECT_TAPE_ERROR(cast(tensor({-1}), u8), ErrorKind::numeric, "cast: -1 does not fit u8");
  EXPECT_TAPE_ERROR(cast(tensor({256}, f16), u8), ErrorKind::numeric, "cast: 256 does not fit u8");
  EXPECT_TRUE(tensors_equal(cast(tensor({-0.9, 255.9}), u8), tensor({0, 255}, u8)));
  EXPECT_TRUE(
      tensors_equal(cast(tensor({-2147483648.9, 2147483647.9}, f64), i32), tensor({-2147483648, 2147483647}, i32)));
}

}  // namespace
}  // namespace tape
