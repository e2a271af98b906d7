#include "autograd/ops/index/indexing.h"

#include <gtest/gtest.h>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensor ids_of(std::initializer_list<Values> values) { return tensor(values, i64); }

TEST(Index, AccumulatesGradientsOfRepeatedIndices) {
  const Tensor x = zeros({3, 2}, f64).requires_grad_();
  index(x, {ids_of({2, 0, -1})}).backward({.gradient = tensor({{1, 2}, {3, 4}, {5, 6}}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{3, 4}, {0, 0}, {6, 8}}, f64)));
}

TEST(Index, HasFirstAndSecondDerivatives) {
  const auto f = [](const Tensors& in) {
    const Tensor y = index(in[0], {ids_of({1, 0, 1}), SliceOptions{.start = 1}, ids_of({{0}, {-1}})});
    return index_put(in[0], {0, ids_of({1, 1})}, in[1] * in[1]) * sum(y * y);
  };
  const Tensors inputs = {sample_normal({2, 3, 2}, 1), sample_normal({2, 2}, 2)};
  EXPECT_TRUE(gradients_match(gradcheck(f, inputs)));
  EXPECT_TRUE(gradients_match(gradgradcheck(f, inputs)));
}

TEST(Index, ReturnsViewsForRanges) {
  const Tensor x = zeros({4, 3});
  EXPECT_TRUE(index(x, {SliceOptions{.start = 1, .end = 3}}).shares_storage(x));
  EXPECT_EQ(index(x, {None, 1, None, SliceOptions{.step = 2}}).shape(), Shape({1, 1, 2}));
  EXPECT_EQ(index(x, {Ellipsis, None}).shape(), Shape({4, 3, 1}));
  EXPECT_EQ(index(x, {}).shape(), Shape({4, 3}));
  EXPECT_EQ(index(x, {SliceOptions{.start = 3, .end = 1}}).shape(), Shape({0, 3}));
  EXPECT_FALSE(index(x, {Ellipsis}).is(x)) << "with its own hooks";
}

TEST(Index, AnEllipsisForNoAxesSeparatesIndexTensors) {
  const Tensor x = arange(12).reshape({4, 3}), rows = ids_of({1, 3}), columns = ids_of({2, 0});
  EXPECT_TRUE(tensors_equal(index(x, {None, rows, columns}), tensor({{5, 9}}, i64)));
  EXPECT_TRUE(tensors_equal(index(x, {None, rows, Ellipsis, columns}), tensor({{5}, {9}}, i64)));
  EXPECT_TRUE(tensors_equal(index(x, {None, rows, columns, Ellipsis}), tensor({{5, 9}}, i64)));
  EXPECT_TRUE(tensors_equal(index_put(x, {None, rows, Ellipsis, columns}, tensor({{-1}, {-2}}, i64)),
                            tensor({{0, 1, 2}, {3, 4, -1}, {6, 7, 8}, {-2, 10, 11}}, i64)));
}

TEST(Index, AcceptsEmptyIndicesAndEveryDtype) {
  EXPECT_EQ(index(zeros({3, 2}), {zeros({0, 4}, i64)}).shape(), Shape({0, 4, 2}));
  EXPECT_EQ(index(zeros({0, 2}), {zeros({0}, i64)}).shape(), Shape({0, 2}));
  EXPECT_EQ(index(zeros({3, 2}), {zeros({3, 2}, boolean)}).shape(), Shape({0}));
  EXPECT_TRUE(tensors_equal(index(scalar(2), {Ellipsis, None}), tensor({2})));
  for (const DType dtype : {f32, f64, i64, boolean})
    EXPECT_TRUE(tensors_equal(index(tensor({1, 0}, dtype), {ids_of({1, 0, 0})}), tensor({0, 1, 1}, dtype)));
}

TEST(Index, RefusesInvalidIndices) {
  const Tensor x = zeros({2, 3});
  EXPECT_TAPE_ERROR(index(x, {ids_of({0, 2})}), ErrorKind::index, "index: index 2 at position 1 is outside [-2, 2)");
  EXPECT_TAPE_ERROR(index(x, {0, 3}), ErrorKind::index, "index: position 3 is outside [-3, 3) on axis 1 of [2, 3]");
  EXPECT_TAPE_ERROR(index(x, {0, 1, 2}), ErrorKind::index, "index: 3 indices for [2, 3]");
  EXPECT_TAPE_ERROR(index(x, {Ellipsis, Ellipsis}), ErrorKind::config, "index: at most one Ellipsis is allowed, got 2");
  EXPECT_TAPE_ERROR(index(x, {zeros({3}, boolean)}), ErrorKind::shape,
                    "index: the mask [3] does not fit [2, 3] starting at axis 0");
  EXPECT_TAPE_ERROR(index(x, {zeros({2})}), ErrorKind::dtype, "index: the index must be i64, got f32");
  EXPECT_TAPE_ERROR(index(x, {SliceOptions{.step = 0}}), ErrorKind::config,
                    "index: the step must be at least 1, got 0");
  EXPECT_THROW(index(x, {ids_of({0, 1}), ids_of({0, 1, 2})}), Error);
}

TEST(IndexPut, KeepsTheLastOfRepeatedIndicesOrAccumulates) {
  const Tensor x = zeros({3}), values = tensor({1, 2, 3});
  EXPECT_TRUE(tensors_equal(index_put(x, {ids_of({0, 2, 0})}, values), tensor({3, 0, 2})));
  EXPECT_TRUE(tensors_equal(index_put(x, {ids_of({0, 2, 0})}, values, {.accumulate = true}), tensor({4, 0, 2})));
  EXPECT_TRUE(tensors_equal(index_put(zeros({2, 3}), {SliceOptions{}, 1}, scalar(5)), tensor({{0, 5, 0}, {0, 5, 0}})));
  EXPECT_TRUE(tensors_equal(index_put(zeros({2, 2}), {1}, tensor({5, 6})), tensor({{0, 0}, {5, 6}})));
  EXPECT_TAPE_ERROR(index_put(x, {ids_of({0, 1})}, values), ErrorKind::shape,
                    "index_put: the values [3] do not broadcast to [2]");
  EXPECT_TAPE_ERROR(index_put(x, {0}, scalar(1, f64)), ErrorKind::dtype, "index_put: dtypes differ: f32 and f64");
}

TEST(Nonzero, SupportsEveryRank) {
  EXPECT_TRUE(tensors_equal(nonzero(tensor({{0, 3}, {-1, 0}}, i64)), ids_of({{0, 1}, {1, 0}})));
  EXPECT_EQ(nonzero(scalar(1)).shape(), Shape({1, 0}));
  EXPECT_EQ(nonzero(zeros({0, 3})).shape(), Shape({0, 2}));
  const Tensor many = ones({50000}, boolean);  // several chunks
  EXPECT_TRUE(tensors_equal(flat_nonzero(many), arange(50000)));
}

TEST(Masked, OperationsRefuseInvalidMasks) {
  EXPECT_TAPE_ERROR(masked_select(ones({2}), ones({2})), ErrorKind::dtype,
                    "masked_select: the mask must be bool, got f32");
  EXPECT_TAPE_ERROR(masked_scatter(ones({2}), ones({3}, boolean), ones({3})), ErrorKind::shape,
                    "masked_scatter: the mask [3] does not broadcast to [2]");
  EXPECT_TAPE_ERROR(masked_scatter(ones({2}), ones({2}, boolean), ones({1})), ErrorKind::shape,
                    "masked_scatter: 2 true mask values for 1 elements of source [1]");
}

}  // namespace
}  // namespace tape
