#include "autograd/ops/elementwise/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Compare, SupportsEveryRelationAndDtype) {
  for (const DType dtype : {f32, f64, i64}) {
    const Tensor a = tensor({1, 2, 3}, dtype), b = tensor({2, 2, 2}, dtype);
    EXPECT_TRUE(tensors_equal(eq(a, b), tensor({0, 1, 0}, boolean)));
    EXPECT_TRUE(tensors_equal(ne(a, b), tensor({1, 0, 1}, boolean)));
    EXPECT_TRUE(tensors_equal(lt(a, b), tensor({1, 0, 0}, boolean)));
    EXPECT_TRUE(tensors_equal(le(a, b), tensor({1, 1, 0}, boolean)));
    EXPECT_TRUE(tensors_equal(gt(a, b), tensor({0, 0, 1}, boolean)));
    EXPECT_TRUE(tensors_equal(ge(a, b), tensor({0, 1, 1}, boolean)));
    EXPECT_TRUE(tensors_equal(ge(a, 2), tensor({0, 1, 1}, boolean)));
    EXPECT_TRUE(tensors_equal(lt(a, 2), tensor({1, 0, 0}, boolean)));
  }
  EXPECT_TRUE(tensors_equal(eq(tensor({1, 0}, boolean), tensor({1, 1}, boolean)), tensor({1, 0}, boolean)));
}

TEST(Compare, ComparesIntegersWithNumbersOutsideOfTheirDtype) {
  const Tensor x = tensor({44, 255}, u8);
  EXPECT_TRUE(tensors_equal(eq(x, 300), tensor({0, 0}, boolean)));
  EXPECT_TRUE(tensors_equal(lt(x, 300), tensor({1, 1}, boolean)));
  EXPECT_TRUE(tensors_equal(gt(x, -1), tensor({1, 1}, boolean)));
  EXPECT_TRUE(tensors_equal(lt(tensor({1}, i32), int64_t{1} << 40), tensor({1}, boolean)));
}

TEST(Compare, BroadcastsItsOperands) {
  EXPECT_TRUE(tensors_equal(gt(tensor({{1, 5}, {3, 0}}), tensor({2, 1})), tensor({{0, 1}, {1, 0}}, boolean)));
  EXPECT_EQ(eq(zeros({0, 3}), zeros({3})).shape(), Shape({0, 3}));
}

TEST(Compare, TreatsNaNAsUnequalToEverything) {
  const Tensor x = tensor({NAN});
  for (const Tensor& y : {eq(x, x), lt(x, x), le(x, x), gt(x, x), ge(x, x)}) EXPECT_EQ(y.item(), 0);
  EXPECT_EQ(ne(x, x).item(), 1);
}

TEST(Compare, IsNotRecorded) {
  const Tensor x = tensor({1}).requires_grad_();
  EXPECT_FALSE(gt(x, 0).requires_grad());
}

TEST(Compare, RefusesShapesThatDoNotBroadcast) {
  EXPECT_TAPE_ERROR(lt(zeros({2}), zeros({3})), ErrorKind::shape,
                    "lt: shapes do not broadcast: [2] and [3] (2 vs 3 on axis -1)");
}

TEST(Logic, FollowsTheTruthTables) {
  const Tensor a = tensor({0, 0, 1, 1}, boolean), b = tensor({0, 1, 0, 1}, boolean);
  EXPECT_TRUE(tensors_equal(logical_and(a, b), tensor({0, 0, 0, 1}, boolean)));
  EXPECT_TRUE(tensors_equal((a & b) | (a ^ b), a | b));
  EXPECT_TRUE(tensors_equal(~(a | b), ~a & ~b));
  EXPECT_TRUE(tensors_equal(logical_or(a, b), tensor({0, 1, 1, 1}, boolean)));
  EXPECT_TRUE(tensors_equal(logical_not(a), tensor({1, 1, 0, 0}, boolean)));
  EXPECT_EQ(logical_and(zeros({2, 1}, boolean), zeros({3}, boolean)).shape(), Shape({2, 3}));
  EXPECT_TAPE_ERROR(logical_and(a, tensor({1, 0, 1, 0})), ErrorKind::dtype, "logical_and: needs bool, got f32");
  EXPECT_TAPE_ERROR(logical_not(tensor({1}, i64)), ErrorKind::dtype, "logical_not: needs bool, got i64");
}

TEST(Where, SelectsAndBroadcasts) {
  const Tensor c = tensor({1, 0, 1}, boolean);
  for (const DType dtype : every_dtype) {
    EXPECT_TRUE(tensors_equal(where(c, scalar(1, dtype), tensor({0, 0, 0}, dtype)), tensor({1, 0, 1}, dtype)));
    EXPECT_TRUE(tensors_equal(where(c, tensor({{1, 1, 0}, {0, 1, 1}}, dtype), scalar(0, dtype)),
                              tensor({{1, 0, 0}, {0, 0, 1}}, dtype)));
  }
  EXPECT_TAPE_ERROR(where(tensor({1}), tensor({1}), tensor({1})), ErrorKind::dtype, "where: needs bool, got f32");
  EXPECT_TRUE(tensors_equal(where(c, tensor({0.5}), tensor({7}, i64)), tensor({0.5, 7, 0.5})));
  EXPECT_TRUE(tensors_equal(where(c, tensor({1, 2, 3}, f64), 7), tensor({1, 7, 3}, f64)));
  EXPECT_TRUE(tensors_equal(where(c, -0.5, tensor({1, 2, 3}, i64)), tensor({-0.5, 2, -0.5})));
}

TEST(Where, DoesNotPropagateUnselectedNaN) {
  const Tensor x = tensor({NAN, 2}, f64).requires_grad_();
  const Tensor y = where(tensor({0, 1}, boolean), x * 3, scalar(0, f64));
  sum(y).backward();
  EXPECT_TRUE(tensors_equal(y, tensor({0, 6}, f64)));
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({0, 3}, f64)));
}

TEST(MaskedFill, ReplacesValuesAndMasksTheGradient) {
  const Tensor x = tensor({{1, 2}, {3, 4}}, f64).requires_grad_();
  const Tensor y = masked_fill(x, tensor({1, 0}, boolean), -INFINITY);
  EXPECT_TRUE(tensors_equal(y, tensor({{-INFINITY, 2}, {-INFINITY, 4}}, f64)));
  y.backward({.gradient = tensor({{1, 2}, {3, 4}}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{0, 2}, {0, 4}}, f64)));
  EXPECT_TRUE(tensors_equal(masked_fill(tensor({5, 6}, i64), tensor({1, 0}, boolean), 9), tensor({9, 6}, i64)));
  EXPECT_TAPE_ERROR(masked_fill(zeros({2}), zeros({2}), 0), ErrorKind::dtype, "masked_fill: needs bool, got f32");
  EXPECT_TAPE_ERROR(masked_fill(zeros({2}), zeros({3, 2}, boolean), 0), ErrorKind::shape,
                    "masked_fill: the mask [3, 2] does not broadcast to [2]");
}

}  // namespace
}  // namespace tape
