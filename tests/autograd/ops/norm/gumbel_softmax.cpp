#include "autograd/ops/norm/gumbel_softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(GumbelSoftmax, SamplesInProportionToTheSoftmax) {
  Generator stream(1);
  const Tensor weights = tensor({1, 2, 3, 4}, f64), x = expand(log(weights), {40'000, 4}).clone();
  const Tensor hard = gumbel_softmax(x, {.tau = 0.3, .hard = true}, stream);
  EXPECT_TRUE(tensors_equal(sum(hard, -1), ones({40'000}, f64)));
  EXPECT_TRUE(tensors_near(mean(hard, 0), weights / 10, 0.01));
}

TEST(GumbelSoftmax, IsOneHotAtLowTemperature) {
  Generator first(2), second(2);
  const Tensor x = sample_normal({5, 6});
  const Tensor soft = gumbel_softmax(x, {.tau = 1e-4}, first), hard = gumbel_softmax(x, {.hard = true}, second);
  EXPECT_TRUE(tensors_near(soft, hard, 1e-6));
  EXPECT_EQ(first.counter(), 30u);
}

/// Straight-through estimator: hard values with the gradients of the soft sample, of both orders, along any axis.
TEST(GumbelSoftmax, HasTheSoftGradientForHardSamples) {
  for (const int64_t axis : {0, 1}) {
    Tensors values, slopes, curves;
    for (const bool hard : {false, true}) {
      Generator stream(3);
      const Tensor x = sample_normal({3, 4}).requires_grad_();
      values.push_back(gumbel_softmax(x, {.tau = 0.7, .hard = hard, .axis = axis}, stream));
      const Tensor dx = grad({values.back()}, {x}, {.gradients = {sample_normal({3, 4}, 9)}, .create_graph = true})[0];
      slopes.push_back(dx.detach());
      curves.push_back(grad({sum(square(dx))}, {x})[0]);
    }
    for (const double v : values[1].detach().to_vector<double>()) EXPECT_TRUE(v == 0 || v == 1) << v;
    EXPECT_TRUE(tensors_equal(argmax(values[1].detach(), axis), argmax(values[0].detach(), axis)));
    EXPECT_TRUE(tensors_equal(slopes[1], slopes[0]));
    EXPECT_TRUE(tensors_near(curves[1], curves[0], 1e-14));
    EXPECT_GT(max(abs(slopes[0])).item(), 0);
  }
}

TEST(GumbelSoftmax, UsesTheSamplingStreamAndRefusesInvalidArguments) {
  manual_seed(4);
  const Tensor x = zeros({2, 3});
  const Tensor y = gumbel_softmax(x);
  EXPECT_EQ(generator(Stream::sampling).counter(), 6u);
  manual_seed(4);
  EXPECT_TRUE(tensors_equal(gumbel_softmax(x), y));
  EXPECT_TAPE_ERROR(gumbel_softmax(x, {.tau = 0}), ErrorKind::config,
                    "gumbel_softmax: tau must be above 0 and finite, got 0");
  EXPECT_TAPE_ERROR(gumbel_softmax(x, {.axis = 2}), ErrorKind::index,
                    "gumbel_softmax: axis 2 is out of range for shape [2, 3]");
  EXPECT_TAPE_ERROR(gumbel_softmax(zeros({2, 0}), {.hard = true}), ErrorKind::shape,
                    "gumbel_softmax: hard needs a non-empty axis: x is [2, 0]");
  EXPECT_TAPE_ERROR(gumbel_softmax(zeros({2}, i64)), ErrorKind::dtype,
                    "gumbel_softmax: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
