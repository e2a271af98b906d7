#include "autograd/ops/norm/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Softmax, AgreesWithPyTorch) {
  expect_case(reference::softmax_last, {{2, 4}}, [](const Tensors& in) { return softmax(in[0], -1); });
  expect_case(reference::softmax_first, {{3, 2}}, [](const Tensors& in) { return softmax(in[0], 0); });
}

TEST(Softmax, SumsToOneAndDoesNotOverflow) {
  const Tensor y = softmax(tensor({{1e4, 1e4 - 1, -1e4}, {3e38, 0, -3e38}}), -1);
  EXPECT_TRUE(tensors_near(sum(y, -1), ones({2}), 1e-6));
  EXPECT_TRUE(tensors_near(y[1], tensor({1, 0, 0}), 0));
}

TEST(Softmax, IsZeroWhereEveryScoreIsMinusInfinity) {
  for (const DType dtype : {f32, f64}) {
    const Tensor x = tensor({{-inf, -inf}, {0, -inf}}, dtype).requires_grad_();
    const Tensor y = softmax(x, -1);
    EXPECT_TRUE(tensors_equal(y, tensor({{0, 0}, {1, 0}}, dtype)));
    const Tensor seed = tensor({{1, 2}, {3, 4}}, dtype);
    for (const bool create_graph : {false, true})
      EXPECT_TRUE(
          tensors_equal(grad({y}, {x}, {.gradients = {seed}, .retain_graph = true, .create_graph = create_graph})[0],
                        zeros({2, 2}, dtype)));
  }
}

TEST(Softmax, SpreadsNaNOnlyOverItsRow) {
  EXPECT_TRUE(tensors_near(softmax(tensor({{NAN, 0}, {0, 0}}), 1), tensor({{NAN, NAN}, {0.5, 0.5}}), 1e-7));
}

TEST(Softmax, AcceptsAxesOfSizeOneAndZero) {
  EXPECT_TRUE(tensors_equal(softmax(ones({3, 1}), -1), ones({3, 1})));
  EXPECT_EQ(softmax(zeros({0, 3}), -1).shape(), Shape({0, 3}));
  EXPECT_EQ(softmax(zeros({3, 0}), -1).shape(), Shape({3, 0}));
}

TEST(Softmax, RefusesInvalidAxesAndIntegers) {
  EXPECT_TAPE_ERROR(softmax(zeros({2}), 1), ErrorKind::index, "softmax: axis 1 is out of range for shape [2]");
  EXPECT_TAPE_ERROR(softmax(arange(3), 0), ErrorKind::dtype, "softmax: needs a floating dtype, got i64");
}

TEST(LogSoftmax, AgreesWithPyTorch) {
  expect_case(reference::log_softmax_last, {{2, 4}}, [](const Tensors& in) { return log_softmax(in[0], -1); });
}

TEST(LogSoftmax, IsTheLogOfSoftmax) {
  const Tensor x = sample_normal({3, 4, 5});
  for (int64_t axis = -3; axis < 3; ++axis)
    EXPECT_TRUE(tensors_near(exp(log_softmax(x, axis)), softmax(x, axis), 1e-14)) << axis;
}

TEST(LogSoftmax, AcceptsInfiniteAndHugeValues) {
  EXPECT_TRUE(tensors_equal(log_softmax(tensor({1000, 0}, f64), 0), tensor({0, -1000}, f64)));
  EXPECT_TRUE(
      tensors_equal(log_softmax(tensor({{-inf, -inf}, {0, -inf}}, f64), -1), tensor({{-inf, -inf}, {0, -inf}}, f64)));
  EXPECT_TAPE_ERROR(log_softmax(arange(3), 0), ErrorKind::dtype, "log_softmax: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
