#include "autograd/ops/shape/pad.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "tests/autograd/ops/rounded_f32.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Pad, PadsTheLastAxis) {
  EXPECT_TRUE(tensors_equal(pad(one_to_six, {{1, 2}}), tensor({{0, 1, 2, 3, 0, 0}, {0, 4, 5, 6, 0, 0}})));
}

TEST(Pad, PadsEveryAxisWithAValue) {
  EXPECT_TRUE(tensors_equal(pad(one_to_six, {{1, 0}, {0, 1}}, 9), tensor({{9, 9, 9, 9}, {1, 2, 3, 9}, {4, 5, 6, 9}})));
  EXPECT_TRUE(tensors_equal(pad(tensor({1}), {{1, 1}}, -INFINITY), tensor({-INFINITY, 1, -INFINITY})));
}

TEST(Pad, SupportsEveryDtypeAndRank) {
  EXPECT_TRUE(tensors_equal(pad(tensor({5}, i64), {{0, 2}}, 7), tensor({5, 7, 7}, i64)));
  EXPECT_TRUE(tensors_equal(pad(tensor({0}, boolean), {{1, 0}}, 1), tensor({1, 0}, boolean)));
  EXPECT_TRUE(tensors_equal(pad(zeros({0}), {{1, 1}}, 2), tensor({2, 2})));
  EXPECT_TRUE(tensors_equal(pad(scalar(3), {}), scalar(3)));
}

TEST(Pad, DropsThePaddingFromTheGradient) {
  const Tensor x = tensor({{1, 2}}, f64).requires_grad_();
  pad(x, {{1, 0}, {0, 1}}).backward({.gradient = tensor({{1, 2, 3}, {4, 5, 6}}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{4, 5}}, f64)));
}

TEST(Pad, RefusesNegativeAmountsAndTooManyAxes) {
  EXPECT_TAPE_ERROR(pad(one_to_six, {{1, -2}}), ErrorKind::config, "pad: amounts must not be negative, got 1 and -2");
  EXPECT_TAPE_ERROR(pad(one_to_six, {{0, 0}, {0, 0}, {0, 1}}), ErrorKind::shape,
                    "pad: amounts for 3 axes, the tensor is [2, 3]");
}

TEST(Flip, ReversesTheGivenAxes) {
  EXPECT_TRUE(tensors_equal(flip(one_to_six, 0), tensor({{4, 5, 6}, {1, 2, 3}})));
  EXPECT_TRUE(tensors_equal(flip(one_to_six, -1), tensor({{3, 2, 1}, {6, 5, 4}})));
  EXPECT_TRUE(tensors_equal(flip(one_to_six), tensor({{6, 5, 4}, {3, 2, 1}})));
  EXPECT_TRUE(tensors_equal(flip(tensor({1, 0, 0}, boolean)), tensor({0, 0, 1}, boolean)));
  EXPECT_TRUE(
      tensors_equal(flip(flip(reshape(arange(24), {2, 3, 4}), {0, 2}), {2, 0}), reshape(arange(24), {2, 3, 4})));
  EXPECT_EQ(flip(zeros({0, 2})).shape(), Shape({0, 2}));
  EXPECT_TRUE(tensors_equal(flip(scalar(2)), scalar(2)));
  EXPECT_TAPE_ERROR(flip(one_to_six, 2), ErrorKind::index, "flip: axis 2 is out of range for shape [2, 3]");
}

TEST(Triangle, KeepsItsSideOfTheDiagonal) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  EXPECT_TRUE(tensors_equal(tril(x), tensor({{1, 0, 0}, {4, 5, 0}, {7, 8, 9}})));
  EXPECT_TRUE(tensors_equal(tril(x, -1), tensor({{0, 0, 0}, {4, 0, 0}, {7, 8, 0}})));
  EXPECT_TRUE(tensors_equal(tril(x, 1), tensor({{1, 2, 0}, {4, 5, 6}, {7, 8, 9}})));
  EXPECT_TRUE(tensors_equal(triu(x), tensor({{1, 2, 3}, {0, 5, 6}, {0, 0, 9}})));
  EXPECT_TRUE(tensors_equal(triu(x, 2), tensor({{0, 0, 3}, {0, 0, 0}, {0, 0, 0}})));
  EXPECT_TRUE(tensors_equal(triu(x, -9), x));
}

TEST(Triangle, AcceptsEveryDtype) {
  for (const DType dtype : {f32, f64, i64, boolean}) {
    EXPECT_TRUE(tensors_equal(tril(ones({2, 3}, dtype)), tensor({{1, 0, 0}, {1, 1, 0}}, dtype)));
    EXPECT_TRUE(tensors_equal(triu(ones({3, 2}, dtype), 1), tensor({{0, 1}, {0, 0}, {0, 0}}, dtype)));
  }
}

TEST(Triangle, HasGradientsForHalves) {
  expect_rounded_f32({sample_normal({2, 3, 4})}, [](const Tensors& in) { return tril(in[0], 1); });
  expect_rounded_f32({sample_normal({3, 2})}, [](const Tensors& in) { return triu(in[0]); });
}

TEST(Triangle, DropsNaN) { EXPECT_TRUE(tensors_equal(tril(full({2, 2}, NAN)), tensor({{NAN, 0}, {NAN, NAN}}))); }

TEST(Triangle, AcceptsBatchesAndEmptyMatrices) {
  EXPECT_TRUE(tensors_equal(tril(ones({2, 2, 2})), tensor({{{1, 0}, {1, 1}}, {{1, 0}, {1, 1}}})));
  EXPECT_EQ(tril(zeros({2, 0})).shape(), Shape({2, 0}));
  EXPECT_EQ(triu(zeros({0, 2}, i64)).shape(), Shape({0, 2}));
  EXPECT_TAPE_ERROR(tril(tensor({1})), ErrorKind::shape, "tril: needs at least two axes, got [1]");
  EXPECT_TAPE_ERROR(triu(scalar(1)), ErrorKind::shape, "triu: needs at least two axes, got []");
}

}  // namespace
}  // namespace tape
