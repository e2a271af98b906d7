#include "autograd/ops/shape/shape.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Clone, CopiesValues) {
  Tensor y = clone(one_to_six);
  EXPECT_FALSE(y.shares_storage(one_to_six));
  EXPECT_TRUE(tensors_equal(y, one_to_six));
  y.fill_(0);
  EXPECT_EQ(one_to_six[0][0].item(), 1);
  EXPECT_EQ(clone(zeros({0, 2})).shape(), Shape({0, 2}));
}

TEST(Reshape, ReturnsAView) {
  const Tensor y = reshape(one_to_six, {3, 2});
  EXPECT_TRUE(y.shares_storage(one_to_six));
  EXPECT_TRUE(tensors_equal(y, tensor({{1, 2}, {3, 4}, {5, 6}})));
  EXPECT_EQ(reshape(one_to_six, {-1}).shape(), Shape({6}));
  EXPECT_EQ(reshape(one_to_six, {2, -1, 1}).shape(), Shape({2, 3, 1}));
  EXPECT_EQ(reshape(scalar(1), {1, 1}).shape(), Shape({1, 1}));
  EXPECT_EQ(reshape(zeros({0, 3}), {3, -1}).shape(), Shape({3, 0}));
}

TEST(Reshape, RefusesSizesThatDoNotMatch) {
  EXPECT_TAPE_ERROR(reshape(one_to_six, {4, 2}), ErrorKind::shape,
                    "reshape: sizes differ: [2, 3] to [4, 2] (6 vs 8 elements)");
  EXPECT_TAPE_ERROR(reshape(one_to_six, {4, -1}), ErrorKind::shape, "reshape: no size for -1 fits: [2, 3] to [4, -1]");
  EXPECT_TAPE_ERROR(reshape(one_to_six, {-1, -1}), ErrorKind::shape, "reshape: only one size can be -1, got [-1, -1]");
  EXPECT_TAPE_ERROR(reshape(zeros({0}), {0, -1}), ErrorKind::shape, "reshape: no size for -1 fits: [0] to [0, -1]");
}

TEST(Flatten, MergesAxes) {
  const Tensor x = zeros({2, 3, 4, 5});
  EXPECT_EQ(flatten(x).shape(), Shape({120}));
  EXPECT_EQ(flatten(x, 1, 2).shape(), Shape({2, 12, 5}));
  EXPECT_EQ(flatten(x, -2).shape(), Shape({2, 3, 20}));
  EXPECT_EQ(flatten(scalar(1)).shape(), Shape({1}));
  EXPECT_TAPE_ERROR(flatten(x, 2, 1), ErrorKind::config, "flatten: the first axis 2 is after the last 1");
}

TEST(Squeeze, DropsAxesOfSizeOne) {
  const Tensor x = zeros({1, 2, 1, 3});
  EXPECT_EQ(squeeze(x).shape(), Shape({2, 3}));
  EXPECT_EQ(squeeze(x, 0).shape(), Shape({2, 1, 3}));
  EXPECT_EQ(squeeze(x, {0, -2}).shape(), Shape({2, 3}));
  EXPECT_EQ(squeeze(x, 1).shape(), x.shape());
  EXPECT_EQ(unsqueeze(one_to_six, 0).shape(), Shape({1, 2, 3}));
  EXPECT_EQ(unsqueeze(one_to_six, -1).shape(), Shape({2, 3, 1}));
  EXPECT_EQ(unsqueeze(one_to_six, 2).shape(), Shape({2, 3, 1}));
  EXPECT_TAPE_ERROR(unsqueeze(one_to_six, 3), ErrorKind::index, "unsqueeze: axis 3 is out of range for shape [2, 3]");
  EXPECT_TAPE_ERROR(squeeze(x, 4), ErrorKind::index, "squeeze: axis 4 is out of range for shape [1, 2, 1, 3]");
}

TEST(Expand, RepeatsAxesOfSizeOne) {
  EXPECT_TRUE(tensors_equal(expand(tensor({1, 2}), {2, 2}), tensor({{1, 2}, {1, 2}})));
  EXPECT_TRUE(tensors_equal(expand(reshape(tensor({1, 2}), {2, 1}), {-1, 3}), tensor({{1, 1, 1}, {2, 2, 2}})));
  EXPECT_TRUE(tensors_equal(expand(scalar(7, i64), {2}), tensor({7, 7}, i64)));
  EXPECT_EQ(expand(zeros({1, 2}), {0, 2}).shape(), Shape({0, 2}));
  EXPECT_TAPE_ERROR(expand(one_to_six, {4, 3}), ErrorKind::shape, "expand: [2, 3] does not broadcast to [4, 3]");
  EXPECT_TAPE_ERROR(expand(one_to_six, {3}), ErrorKind::shape, "expand: [2, 3] does not broadcast to [3]");
}

TEST(SumTo, UndoesExpand) {
  EXPECT_TRUE(tensors_equal(sum_to(one_to_six, {3}), tensor({5, 7, 9})));
  EXPECT_TRUE(tensors_equal(sum_to(one_to_six, {2, 1}), reshape(tensor({6, 15}), {2, 1})));
  EXPECT_TRUE(tensors_equal(sum_to(one_to_six, {}), scalar(21)));
  EXPECT_TRUE(tensors_equal(sum_to(one_to_six, {2, 3}), one_to_six));
  EXPECT_TRUE(tensors_equal(sum_to(zeros({0, 2}), {2}), zeros({2})));
  EXPECT_TAPE_ERROR(sum_to(one_to_six, {2}), ErrorKind::shape, "sum_to: [2] does not broadcast to [2, 3]");
}

TEST(Permute, MovesAxes) {
  const Tensor x = reshape(arange(24), {2, 3, 4}), y = permute(x, {2, 0, 1});
  ASSERT_EQ(y.shape(), Shape({4, 2, 3}));
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 4; ++k) ASSERT_EQ(y[k][i][j].item(), x[i][j][k].item());
  EXPECT_TRUE(tensors_equal(permute(y, {1, 2, 0}), x));
  EXPECT_TRUE(tensors_equal(permute(x, {-1, 0, 1}), y));
  EXPECT_TRUE(tensors_equal(permute(scalar(1), std::vector<int64_t>{}), scalar(1)));
}

TEST(Permute, SupportsEveryDtypeAndLargeBlocks) {
  for (const DType dtype : {f32, f64, i64, boolean}) {
    const Tensor x = reshape(arange(70 * 45), {70, 45}).to(dtype), y = transpose(x);
    for (int64_t i : {0, 1, 33, 69})
      for (int64_t j : {0, 7, 44}) ASSERT_EQ(y[j][i].item(), x[i][j].item());
  }
}

TEST(Movedim, MovesAxesAndKeepsTheOthersInOrder) {
  const Tensor x = reshape(arange(120), {2, 3, 4, 5});
  EXPECT_TRUE(tensors_equal(movedim(x, 2, 0), permute(x, {2, 0, 1, 3})));
  EXPECT_TRUE(tensors_equal(movedim(x, 0, -1), permute(x, {1, 2, 3, 0})));
  EXPECT_TRUE(tensors_equal(movedim(x, {0, -1}, {-2, 0}), permute(x, {3, 1, 0, 2})));
  EXPECT_TRUE(movedim(x, 1, -3).is(x));
  EXPECT_TRUE(movedim(x, std::vector<int64_t>{}, {}).is(x));
  EXPECT_TAPE_ERROR(movedim(x, {0, 1}, {2}), ErrorKind::shape,
                    "movedim: 2 source axes and 1 destinations for [2, 3, 4, 5]");
  EXPECT_TAPE_ERROR(movedim(x, {0, -4}, {1, 2}), ErrorKind::config, "movedim: axis -4 is given twice");
  EXPECT_TAPE_ERROR(movedim(x, {0, 1}, {2, 2}), ErrorKind::config, "movedim: axis 2 is given twice");
  EXPECT_TAPE_ERROR(movedim(x, 0, 4), ErrorKind::index, "movedim: axis 4 is out of range for shape [2, 3, 4, 5]");
}

TEST(Permute, RefusesMissingRepeatedAndInvalidAxes) {
  EXPECT_TAPE_ERROR(permute(one_to_six, {0}), ErrorKind::shape, "permute: 1 axes for shape [2, 3]");
  EXPECT_TAPE_ERROR(permute(one_to_six, {0, 0}), ErrorKind::config, "permute: axis 0 is given twice");
  EXPECT_TAPE_ERROR(permute(one_to_six, {0, 2}), ErrorKind::index, "permute: axis 2 is out of range for shape [2, 3]");
  EXPECT_TAPE_ERROR(transpose(tensor({1})), ErrorKind::index, "transpose: axis -2 is out of range for shape [1]");
}

TEST(Transpose, SwapsTwoAxes) {
  EXPECT_TRUE(tensors_equal(transpose(one_to_six), tensor({{1, 4}, {2, 5}, {3, 6}})));
  EXPECT_EQ(transpose(zeros({2, 3, 4}), 0, -1).shape(), Shape({4, 3, 2}));
  EXPECT_EQ(transpose(zeros({2, 0})).shape(), Shape({0, 2}));
}

TEST(Slice, MatchesPythonSlicing) {
  const Tensor x = tensor({0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(tensors_equal(slice(x, 0, {.start = 1, .end = 4}), tensor({1, 2, 3})));
  EXPECT_TRUE(tensors_equal(slice(x, 0, {.start = -2}), tensor({4, 5})));
  EXPECT_TRUE(tensors_equal(slice(x, 0, {.end = -4}), tensor({0, 1})));
  EXPECT_TRUE(tensors_equal(slice(x, 0, {.start = 1, .step = 2}), tensor({1, 3, 5})));
  EXPECT_TRUE(tensors_equal(slice(x, 0, {.end = 100, .step = 4}), tensor({0, 4})));
  EXPECT_EQ(slice(x, 0, {.start = 4, .end = 2}).numel(), 0);
  EXPECT_EQ(slice(x, 0, {.start = 9}).numel(), 0);
  EXPECT_TRUE(tensors_equal(slice(one_to_six, -1, {.start = 1}), tensor({{2, 3}, {5, 6}})));
  EXPECT_TRUE(slice(one_to_six, 0, {.start = 1}).shares_storage(one_to_six));
  EXPECT_TAPE_ERROR(slice(x, 0, {.step = 0}), ErrorKind::config, "slice: the step must be at least 1, got 0");
  EXPECT_TAPE_ERROR(slice(x, 1, {}), ErrorKind::index, "slice: axis 1 is out of range for shape [6]");
}

TEST(Slice, PadsItsGradientWithZeros) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, f64).requires_grad_();
  slice(x, 1, {.start = 0, .step = 2}).backward({.gradient = tensor({{1, 2}, {3, 4}}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{1, 0, 2}, {3, 0, 4}}, f64)));
}

TEST(Select, DropsTheAxis) {
  EXPECT_TRUE(tensors_equal(select(one_to_six, 0, 1), tensor({4, 5, 6})));
  EXPECT_TRUE(tensors_equal(select(one_to_six, 1, -1), tensor({3, 6})));
  EXPECT_TRUE(tensors_equal(one_to_six[1][2], scalar(6)));
  EXPECT_TAPE_ERROR(select(one_to_six, 1, 3), ErrorKind::index,
                    "select: index 3 is outside [-3, 3) on axis 1 of [2, 3]");
  EXPECT_TAPE_ERROR(one_to_six[-3], ErrorKind::index, "select: index -3 is outside [-2, 2) on axis 0 of [2, 3]");
  EXPECT_TAPE_ERROR(scalar(1)[0], ErrorKind::index, "select: axis 0 is out of range for shape []");
}

TEST(Views, ShareWritesAndGradients) {
  Tensor x = tensor({1, 2, 3, 4}, f64);
  reshape(x, {2, 2})[1].fill_(9);
  EXPECT_TRUE(tensors_equal(x, tensor({1, 2, 9, 9}, f64)));
  x.requires_grad_();
  sum(reshape(x, {2, 2})[0] * x[3]).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({9, 9, 0, 3}, f64)));
}

TEST(Shapes, RefuseInvalidSizes) {
  EXPECT_TAPE_ERROR(Shape({1, -2}), ErrorKind::shape, "shape: sizes must not be negative, got [1, -2]");
  EXPECT_TAPE_ERROR(Shape({INT64_MAX, 2}), ErrorKind::shape,
                    "shape: the number of elements of [9223372036854775807, 2] overflows");
  EXPECT_TAPE_ERROR(Shape({0, INT64_MAX, 2}), ErrorKind::shape,
                    "shape: the number of elements of [0, 9223372036854775807, 2] overflows");
  const int64_t most = Shape::kMaxElements;
  EXPECT_EQ(Shape({most / 2, 2}).numel(), most);
  EXPECT_EQ(Shape({most, 0, 1}).numel(), 0);
  EXPECT_TAPE_ERROR(Shape({most / 2, 3}), ErrorKind::shape,
                    "shape: the number of elements of [140737488355328, 3] overflows");
  EXPECT_TAPE_ERROR(Shape({0, most + 1}), ErrorKind::shape,
                    "shape: the number of elements of [0, 281474976710657] overflows");
  EXPECT_TAPE_ERROR(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), ErrorKind::shape, "shape: at most 8 axes are supported, got 9");
}

}  // namespace
}  // namespace tape
