#include "autograd/ops/index/order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(TopK, ReturnsTheLargestOrSmallest) {
  const Tensor x = tensor({{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3}});
  const TopK best = topk(x, 2);
  EXPECT_TRUE(tensors_equal(best.values, tensor({{5, 4}, {9, 6}})));
  EXPECT_TRUE(tensors_equal(best.indices, tensor({{4, 2}, {0, 2}}, i64)));
  const TopK least = topk(x, 3, 1, {.largest = false});
  EXPECT_TRUE(tensors_equal(least.values, tensor({{1, 1, 3}, {2, 3, 5}})));
  EXPECT_TRUE(tensors_equal(least.indices, tensor({{1, 3, 0}, {1, 4, 3}}, i64)));
}

TEST(TopK, WorksAlongOtherAxes) {
  const Tensor x = tensor({{3, 1, 4}, {9, 2, 1}});
  const TopK best = topk(x, 1, 0);
  EXPECT_TRUE(tensors_equal(best.values, tensor({{9, 2, 4}})));
  EXPECT_TRUE(tensors_equal(best.indices, tensor({{1, 1, 0}}, i64)));
}

TEST(TopK, ReturnsEqualValuesInOrder) {
  const TopK best = topk(tensor({2, 7, 7, 1, 7}), 2);
  EXPECT_TRUE(tensors_equal(best.indices, tensor({1, 2}, i64)));
}

TEST(TopK, ReturnsTheValuesAtItsIndices) {
  const Tensor x = grid({4, 100, 3});
  const TopK best = topk(x, 10, 1);
  EXPECT_TRUE(tensors_equal(best.values, gather(x, 1, best.indices)));
  EXPECT_TRUE(tensors_equal(best.values, slice(sort(x, 1, {.descending = true}).values, 1, {.end = 10})));
}

TEST(TopK, AgreesWithSortForLongRows) {
  manual_seed(7);
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {f32, f64})
    for (const int64_t size : {33, 64, 65, 200})
      for (const double odd : {nan, infinity, -infinity}) {
        // Few distinct values, some of them special; later values are mostly worse.
        const Tensor whole = randint(0, 9, {20, size}).to(dtype) - arange(size, dtype) / 16.0;
        const Tensor x = masked_fill(whole, eq(randint(0, 7, {20, size}), scalar(0, i64)), odd);
        for (const bool largest : {true, false})
          for (const int64_t k : {1, 5, 33}) {
            const TopK best = topk(x, k, 1, {.largest = largest});
            const TopK all = sort(x, 1, {.descending = largest});
            const Tensor front = slice(all.indices, 1, {.end = k});
            EXPECT_TRUE(tensors_equal(best.indices, front)) << size << " " << odd << " " << largest << " " << k;
            EXPECT_TRUE(tensors_equal(isnan(best.values), isnan(gather(x, 1, front))));
            EXPECT_TRUE(
                tensors_equal(topk(transpose(x, 0, 1), k, 0, {.largest = largest}).indices, transpose(front, 0, 1)));
          }
      }
}

TEST(TopK, SupportsZeroAndAllElements) {
  const Tensor x = tensor({2, 1, 3});
  EXPECT_EQ(topk(x, 0).values.shape(), Shape({0}));
  EXPECT_TRUE(tensors_equal(topk(x, 3).values, tensor({3, 2, 1})));
  EXPECT_EQ(topk(zeros({0, 4}), 2).indices.shape(), Shape({0, 2}));
}

TEST(TopK, AgreesWithPyTorch) {
  expect_case(reference::topk_rows, {{2, 5}}, [](const Tensors& in) { return topk(in[0], 2, 1).values; });
}

TEST(TopK, RefusesCountsOutOfRange) {
  EXPECT_TAPE_ERROR(topk(tensor({1, 2}), 3), ErrorKind::config, "topk: k = 3 is outside 0 .. 2 (axis 0 of [2])");
  EXPECT_TAPE_ERROR(topk(tensor({1, 2}), -1), ErrorKind::config, "topk: k = -1 is outside 0 .. 2 (axis 0 of [2])");
  EXPECT_TAPE_ERROR(topk(tensor({1, 2}, i64), 1), ErrorKind::dtype, "topk: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(topk(scalar(1), 1), ErrorKind::index, "topk: axis -1 is out of range for shape []");
}

TEST(Sort, WorksInBothOrders) {
  const Tensor x = tensor({{3, 1, 2}, {5, 6, 4}});
  EXPECT_TRUE(tensors_equal(sort(x).values, tensor({{1, 2, 3}, {4, 5, 6}})));
  EXPECT_TRUE(tensors_equal(sort(x).indices, tensor({{1, 2, 0}, {2, 0, 1}}, i64)));
  EXPECT_TRUE(tensors_equal(sort(x, -1, {.descending = true}).values, tensor({{3, 2, 1}, {6, 5, 4}})));
  EXPECT_TRUE(tensors_equal(sort(x, 0).values, x));
  EXPECT_TRUE(tensors_equal(argsort(x, 0, {.descending = true}), tensor({{1, 1, 1}, {0, 0, 0}}, i64)));
}

TEST(Sort, IsStable) {
  const Tensor x = tensor({1, 0, 1, 0, 1});
  EXPECT_TRUE(tensors_equal(argsort(x), tensor({1, 3, 0, 2, 4}, i64)));
  EXPECT_TRUE(tensors_equal(argsort(x, 0, {.descending = true}), tensor({0, 2, 4, 1, 3}, i64)));
}

TEST(Sort, OrdersInfinityAndNaN) {
  const Tensor x = tensor({NAN, inf, -inf, 0});
  EXPECT_TRUE(tensors_equal(sort(x).values, tensor({-inf, 0, inf, NAN})));
  EXPECT_TRUE(tensors_equal(sort(x, 0, {.descending = true}).values, tensor({NAN, inf, 0, -inf})));
  EXPECT_TRUE(tensors_equal(topk(x, 2).values, tensor({NAN, inf})));
  EXPECT_TRUE(tensors_equal(topk(x, 2, 0, {.largest = false}).values, tensor({-inf, 0})));
}

TEST(Sort, AgreesWithPyTorch) {
  expect_case(reference::sort_rows, {{2, 5}},
              [](const Tensors& in) { return sort(in[0], 1, {.descending = true}).values; });
}

TEST(Sort, ArgsortIsNotRecorded) { EXPECT_FALSE(argsort(grid({3}).requires_grad_()).requires_grad()); }

TEST(Cumsum, WorksInBothDirections) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_TRUE(tensors_equal(cumsum(x, 1), tensor({{1, 3, 6}, {4, 9, 15}})));
  EXPECT_TRUE(tensors_equal(cumsum(x, 0), tensor({{1, 2, 3}, {5, 7, 9}})));
  EXPECT_TRUE(tensors_equal(cumsum(x, -1, {.reverse = true}), tensor({{6, 5, 3}, {15, 11, 6}})));
  EXPECT_EQ(cumsum(zeros({2, 0}), 1).shape(), Shape({2, 0}));
}

TEST(Cumsum, AgreesWithPyTorch) {
  expect_case(reference::cumsum_rows, {{2, 4}}, [](const Tensors& in) { return cumsum(in[0], 1); });
}

TEST(Cumsum, RefusesIntegersAndInvalidAxes) {
  EXPECT_TAPE_ERROR(cumsum(tensor({1}, i64), 0), ErrorKind::dtype, "cumsum: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(cumsum(tensor({1}), 1), ErrorKind::index, "cumsum: axis 1 is out of range for shape [1]");
}

}  // namespace
}  // namespace tape
