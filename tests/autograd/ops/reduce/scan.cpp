#include "autograd/ops/reduce/scan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Cumprod, HasCorrectGradientsAtZeros) {
  const Tensor x = tensor({2, 0, 3, 0, 4}, f64).requires_grad_();
  sum(cumprod(x, 0)).backward();
  // d/dx0 of 2 + 2*0 + ...: 1; d/dx1: 2 + 2*3 + 0; values after the second 0 affect only their own outputs.
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({1, 8, 0, 0, 0}, f64)));
}

TEST(Logcumsumexp, HandlesLeadingMinusInfinity) {
  for (const DType dtype : {f32, f64}) {
    const Tensor x = tensor({-inf, -inf, 0, 1000}, dtype).requires_grad_();
    const Tensor y = logcumsumexp(x, 0);
    EXPECT_TRUE(tensors_equal(y.detach(), tensor({-inf, -inf, 0, 1000}, dtype)));
    for (const bool create_graph : {false, true}) {
      const Tensor dx =
          grad({y}, {x}, {.gradients = {ones({4}, dtype)}, .retain_graph = true, .create_graph = create_graph})[0];
      EXPECT_TRUE(tensors_equal(dx.detach(), tensor({0, 0, 1, 1}, dtype))) << create_graph;
    }
  }
  EXPECT_TRUE(tensors_equal(logcumsumexp(tensor({0, NAN, 1}), 0), tensor({0, NAN, NAN})));
  EXPECT_TRUE(tensors_equal(logcumsumexp(tensor({inf, 1, inf}), 0), tensor({inf, inf, inf})));
}

TEST(Cummax, ReturnsTheLastOfEqualValuesAndPropagatesNaN) {
  const TopK best = cummax(tensor({1, 3, 3, 2, NAN, 5}), 0);
  EXPECT_TRUE(tensors_equal(best.values, tensor({1, 3, 3, 3, NAN, NAN})));
  EXPECT_TRUE(tensors_equal(best.indices, tensor({0, 1, 2, 2, 4, 4}, i64)));
  EXPECT_TRUE(tensors_equal(cummin(tensor({{3, 1}, {2, 4}}), 0).values, tensor({{3, 1}, {2, 1}})));
}

TEST(LinearScan, ComputesItsRecurrence) {
  const Tensor a = tensor({9, 0.5, 2}), b = tensor({1, 1, 1});
  EXPECT_TRUE(tensors_equal(linear_scan(a, b, 0), tensor({1, 1.5, 4})));
  EXPECT_TRUE(tensors_equal(linear_scan(a, b, 0, {.reverse = true}), tensor({14.5, 1.5, 1})));
}

TEST(Scans, AcceptSizesZeroAndOne) {
  for (const auto& f : {cumprod, logcumsumexp}) {
    EXPECT_EQ(f(zeros({2, 0}), 1).shape(), Shape({2, 0}));
    EXPECT_TRUE(tensors_equal(f(tensor({3}), 0), tensor({3})));
  }
  EXPECT_EQ(cummax(zeros({0, 2}), 0).indices.shape(), Shape({0, 2}));
}

TEST(Scans, RefuseIntegersAndInvalidAxes) {
  EXPECT_TAPE_ERROR(cumprod(arange(3), 0), ErrorKind::dtype, "cumprod: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(logcumsumexp(tensor({1}), 1), ErrorKind::index,
                    "logcumsumexp: axis 1 is out of range for shape [1]");
  EXPECT_TAPE_ERROR(cummax(arange(3), 0), ErrorKind::dtype, "cummax: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(linear_scan(ones({2}), ones({3}), 0), ErrorKind::shape, "linear_scan: shapes differ: [2] and [3]");
  EXPECT_TAPE_ERROR(linear_scan(ones({2}), ones({2}, f64), 0), ErrorKind::dtype,
                    "linear_scan: dtypes differ: f32 and f64");
}

}  // namespace
}  // namespace tape
