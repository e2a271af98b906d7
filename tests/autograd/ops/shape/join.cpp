#include "autograd/ops/shape/join.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

const Tensor seven_to_nine = tensor({{7, 8, 9}});

TEST(Cat, JoinsRows) {
  EXPECT_TRUE(tensors_equal(cat({one_to_six, seven_to_nine}), tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})));
}

TEST(Cat, JoinsColumns) {
  EXPECT_TRUE(tensors_equal(cat({one_to_six, reshape(tensor({7, 8}), {2, 1}), one_to_six}, -1),
                            tensor({{1, 2, 3, 7, 1, 2, 3}, {4, 5, 6, 8, 4, 5, 6}})));
}

TEST(Cat, JoinsAlongAMiddleAxis) {
  const Tensor x = reshape(arange(8), {2, 2, 2}), y = reshape(arange(10, 14), {2, 1, 2});
  EXPECT_TRUE(tensors_equal(cat({x, y}, 1), reshape(tensor({0, 1, 2, 3, 10, 11, 4, 5, 6, 7, 12, 13}, i64), {2, 3, 2})));
}

TEST(Cat, AcceptsEveryDtype) {
  for (const DType dtype : {f32, f64, i64, boolean})
    EXPECT_TRUE(tensors_equal(cat({tensor({1, 0}, dtype), tensor({1}, dtype)}), tensor({1, 0, 1}, dtype)));
}

TEST(Cat, AcceptsEmptyTensors) {
  EXPECT_TRUE(tensors_equal(cat({zeros({0, 3}), seven_to_nine}), seven_to_nine));
  EXPECT_EQ(cat({zeros({0, 3}), zeros({0, 3})}).shape(), Shape({0, 3}));
  EXPECT_EQ(cat({zeros({0, 3}), zeros({0, 2})}, 1).shape(), Shape({0, 5}));
}

TEST(Cat, ReturnsACopy) {
  const Tensor y = cat({one_to_six});
  EXPECT_FALSE(y.shares_storage(one_to_six));
}

TEST(Cat, ComputesOnlyTheRequestedGradients) {
  const Tensor x = tensor({1, 2}, f64).requires_grad_(), fixed = tensor({3}, f64);
  cat({fixed, x, fixed, x}).backward({.gradient = tensor({1, 2, 3, 4, 5, 6}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({2 + 5, 3 + 6}, f64)));
}

TEST(Cat, RefusesMismatchedSizesOutsideTheAxis) {
  EXPECT_TAPE_ERROR(cat({}), ErrorKind::config, "cat: needs at least one tensor");
  EXPECT_TAPE_ERROR(cat({one_to_six, seven_to_nine}, 1), ErrorKind::shape,
                    "cat: sizes differ outside axis 1: [2, 3] and [1, 3]");
  EXPECT_TAPE_ERROR(cat({one_to_six, tensor({1, 2, 3})}), ErrorKind::shape,
                    "cat: sizes differ outside axis 0: [2, 3] and [3]");
  EXPECT_TAPE_ERROR(cat({one_to_six, seven_to_nine}, 2), ErrorKind::index,
                    "cat: axis 2 is out of range for shape [2, 3]");
  EXPECT_TAPE_ERROR(cat({scalar(1)}), ErrorKind::index, "cat: axis 0 is out of range for shape []");
}

TEST(PutSlice, WritesInPlace) {
  for (int64_t axis = 0; axis < 3; ++axis) {
    Tensor x = randn({3, 4, 5});
    const Tensor before = x.clone(), part = randn(x.shape().with(axis, 2));
    const uint64_t version = x.version();
    put_slice_(x, axis, 1, part);
    EXPECT_GT(x.version(), version);
    EXPECT_TRUE(tensors_equal(slice(x, axis, {.start = 1, .end = 3}), part));
    EXPECT_TRUE(tensors_equal(slice(x, axis, {.end = 1}), slice(before, axis, {.end = 1})));
    EXPECT_TRUE(tensors_equal(slice(x, axis, {.start = 3}), slice(before, axis, {.start = 3})));
  }
}

TEST(PutSlice, RefusesInvalidPositionsAndGradients) {
  Tensor x = zeros({2, 3});
  EXPECT_TAPE_ERROR(put_slice_(x, 1, 0, zeros({3, 1})), ErrorKind::shape,
                    "put_slice_: sizes differ outside axis 1: x [2, 3] and part [3, 1]");
  EXPECT_TAPE_ERROR(put_slice_(x, 1, 2, zeros({2, 2})), ErrorKind::index,
                    "put_slice_: positions 2 to 3 are outside axis 1 of [2, 3]");
  EXPECT_TAPE_ERROR(put_slice_(x, 1, -1, zeros({2, 2})), ErrorKind::index,
                    "put_slice_: positions -1 to 0 are outside axis 1 of [2, 3]");
  EXPECT_TAPE_ERROR(put_slice_(x, 1, 0, zeros({2, 1}).requires_grad_()), ErrorKind::graph,
                    "put_slice_: gradients do not flow through it; use put_slice");
}

TEST(Stack, WorksAlongEveryAxis) {
  const Tensor x = tensor({1, 2, 3}), y = tensor({4, 5, 6});
  EXPECT_TRUE(tensors_equal(stack({x, y}), tensor({{1, 2, 3}, {4, 5, 6}})));
  EXPECT_TRUE(tensors_equal(stack({x, y}, -1), tensor({{1, 4}, {2, 5}, {3, 6}})));
  EXPECT_TRUE(tensors_equal(stack({scalar(1), scalar(2)}), tensor({1, 2})));
  EXPECT_EQ(stack({one_to_six, one_to_six, one_to_six}, 1).shape(), Shape({2, 3, 3}));
}

TEST(Stack, RefusesMismatchedShapes) {
  EXPECT_TAPE_ERROR(stack({}), ErrorKind::config, "stack: needs at least one tensor");
  EXPECT_TAPE_ERROR(stack({one_to_six, seven_to_nine}), ErrorKind::shape, "stack: shapes differ: [2, 3] and [1, 3]");
}

TEST(Split, SplitsBySize) {
  const Tensors pieces = split(tensor({1, 2, 3, 4, 5}), 2);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_TRUE(tensors_equal(pieces[1], tensor({3, 4})));
  EXPECT_TRUE(tensors_equal(pieces[2], tensor({5})));
}

TEST(Split, SplitsBySizes) {
  const Tensors pieces = split(one_to_six, {1, 0, 2}, 1);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_TRUE(tensors_equal(pieces[0], reshape(tensor({1, 4}), {2, 1})));
  EXPECT_EQ(pieces[1].shape(), Shape({2, 0}));
  EXPECT_TRUE(tensors_equal(pieces[2], tensor({{2, 3}, {5, 6}})));
}

TEST(Split, ReturnsViewsOfRows) {
  const Tensors pieces = split(one_to_six, 1);
  EXPECT_TRUE(pieces[1].shares_storage(one_to_six));
  EXPECT_TRUE(tensors_equal(pieces[1], tensor({{4, 5, 6}})));
  EXPECT_FALSE(split(one_to_six, 1, 1)[0].shares_storage(one_to_six));
}

TEST(Split, IsUndoneByCat) {
  const Tensor x = reshape(arange(24), {2, 4, 3});
  for (int64_t axis = 0; axis < 3; ++axis) EXPECT_TRUE(tensors_equal(cat(split(x, 2, axis), axis), x)) << axis;
}

TEST(Split, HasGradientsOfSomePieces) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, f64).requires_grad_();
  const Tensors pieces = split(x, {1, 1, 1}, 1);
  sum(pieces[0] * pieces[2]).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{3, 0, 1}, {6, 0, 4}}, f64)));
}

TEST(Split, RefusesSizesThatDoNotAddUp) {
  EXPECT_TAPE_ERROR(split(one_to_six, {1, 1}, 1), ErrorKind::shape,
                    "split: sizes [1, 1] do not add up to axis 1 of [2, 3] (2 vs 3)");
  EXPECT_TAPE_ERROR(split(one_to_six, {4, -1}, 1), ErrorKind::config, "split: sizes must not be negative, got [4, -1]");
  EXPECT_TAPE_ERROR(split(one_to_six, 0), ErrorKind::config, "split: the size must be positive, got 0");
  EXPECT_TAPE_ERROR(split(one_to_six, 1, 5), ErrorKind::index, "split: axis 5 is out of range for shape [2, 3]");
}

TEST(Chunk, MatchesPyTorch) {
  const auto sizes = [](int64_t n, int64_t count) {
    std::vector<int64_t> result;
    for (const Tensor& piece : chunk(arange(n), count)) result.push_back(piece.numel());
    return result;
  };
  EXPECT_EQ(sizes(6, 3), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(sizes(7, 3), (std::vector<int64_t>{3, 3, 1}));
  EXPECT_EQ(sizes(5, 4), (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(sizes(2, 4), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(sizes(0, 3), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_TAPE_ERROR(chunk(one_to_six, 0), ErrorKind::config, "chunk: the count must be positive, got 0");
}

TEST(Repeat, TilesLikeNumPy) {
  const Tensor x = tensor({1, 2});
  EXPECT_TRUE(tensors_equal(repeat(x, {3}), tensor({1, 2, 1, 2, 1, 2})));
  EXPECT_TRUE(tensors_equal(repeat(x, {1, 1}), tensor({{1, 2}})));
  EXPECT_FALSE(repeat(x, {1}).shares_storage(x));
  EXPECT_TRUE(tensors_equal(repeat(x, {2, 2}), tensor({{1, 2, 1, 2}, {1, 2, 1, 2}})));
  EXPECT_TRUE(tensors_equal(repeat(tensor({{1, 2}, {3, 4}}), {2, 1}), tensor({{1, 2}, {3, 4}, {1, 2}, {3, 4}})));
  EXPECT_TRUE(tensors_equal(repeat(tensor({{1, 2}, {3, 4}}), {2}), tensor({{1, 2, 1, 2}, {3, 4, 3, 4}})));
  EXPECT_TRUE(tensors_equal(repeat(scalar(3, i64), {2}), tensor({3, 3}, i64)));
  EXPECT_EQ(repeat(one_to_six, {0, 2}).shape(), Shape({0, 6}));
  EXPECT_TAPE_ERROR(repeat(one_to_six, {2, -1}), ErrorKind::config, "repeat: counts must not be negative, got [2, -1]");
}

TEST(Repeat, AccumulatesGradients) {
  const Tensor x = tensor({1, 2}, f64).requires_grad_();
  repeat(x, {2, 2}).backward({.gradient = tensor({{1, 2, 3, 4}, {5, 6, 7, 8}}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({16, 20}, f64)));
}

TEST(Roll, WrapsAround) {
  const Tensor x = tensor({1, 2, 3, 4});
  EXPECT_TRUE(tensors_equal(roll(x, 1, 0), tensor({4, 1, 2, 3})));
  EXPECT_TRUE(tensors_equal(roll(x, -1, 0), tensor({2, 3, 4, 1})));
  EXPECT_TRUE(tensors_equal(roll(x, 9, 0), tensor({4, 1, 2, 3})));
  EXPECT_TRUE(tensors_equal(roll(x, 4, 0), x));
  EXPECT_TRUE(tensors_equal(roll(one_to_six, 1, -1), tensor({{3, 1, 2}, {6, 4, 5}})));
  EXPECT_EQ(roll(zeros({0, 2}), 1, 0).shape(), Shape({0, 2}));
}

}  // namespace
}  // namespace tape
