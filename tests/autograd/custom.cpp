#include "autograd/custom.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/op.h"
#include "autograd/ops/unary.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensor swish(const Tensor& x) {
  return custom(
      "swish", {x}, [](const Tensors& in) { return in[0] * sigmoid(in[0]); },
      [](const BackwardContext& c) -> Tensors {
        const Tensor s = sigmoid(c.saved(0));
        return {c.grad() * (s + c.saved(1) * (1 - s))};
      });
}

TEST(Custom, RecordsUnderItsName) {
  const Tensor x = sample_normal({4}).requires_grad_();
  const Tensor y = swish(x);
  EXPECT_STREQ(y.impl().node->name(), "swish");
  EXPECT_EQ(y.impl().node->inputs.size(), 1u);
  EXPECT_FALSE(swish(x.detach()).requires_grad());
  const NoGrad no_grad;
  EXPECT_FALSE(swish(x).requires_grad());
}

TEST(Custom, IsGradientChecked) {
  const auto f = [](const Tensors& in) { return swish(in[0]); };
  EXPECT_TRUE(gradients_match(gradcheck(f, {sample_normal({2, 3})})));
  EXPECT_TRUE(gradients_match(gradgradcheck(f, {sample_normal({2, 3})})));
}

TEST(Custom, StaysOutOfTheRegistry) {
  swish(ones({1}));
  for (const Op* op : registered_ops()) EXPECT_STRNE(op->name(), "swish");
}

TEST(Custom, KeepsOneOperationPerName) {
  const Tensor x = sample_normal({2}).requires_grad_();
  EXPECT_EQ(swish(x).impl().node->op, swish(x).impl().node->op);
}

TEST(Custom, MayHandOnItsInput) {
  Tensor x = ones({2}, f64).requires_grad_();
  const Tensor y = custom(
      "straight_through", {x}, [](const Tensors& in) { return in[0]; },
      [](const BackwardContext& c) -> Tensors { return {c.grad() * 2}; });
  EXPECT_FALSE(y.is(x));
  y.backward({.gradient = ones({2}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({2, 2}, f64)));
}

TEST(Custom, SumsBroadcastAxesAndTakesUndefinedForZero) {
  Tensor a = ones({3, 2}, f64).requires_grad_(), b = ones({2}, f64).requires_grad_();
  const Tensor y = custom(
      "left", {a, b}, [](const Tensors& in) { return in[0] + in[1]; },
      [](const BackwardContext& c) -> Tensors {
        return {Tensor(), c.grad()};
      });
  y.backward({.gradient = ones({3, 2}, f64)});
  EXPECT_FALSE(a.grad().defined());
  EXPECT_TRUE(tensors_equal(b.grad(), tensor({3, 3}, f64)));
}

TEST(Custom, ErrorsNameTheOperation) {
  const auto forward = [](const Tensors& in) { return in[0] + 1; };
  EXPECT_TAPE_ERROR(custom(
                        "nothing", {ones({2})}, [](const Tensors&) { return Tensor(); }, nullptr),
                    ErrorKind::graph, "nothing: the forward function returned an undefined tensor");
  const Tensor x = ones({2}).requires_grad_();
  const auto backward_of = [&](BackwardFunction backward) {
    custom("mine", {x}, forward, std::move(backward)).backward({.gradient = ones({2})});
  };
  EXPECT_TAPE_ERROR(backward_of([](const BackwardContext&) { return Tensors{}; }), ErrorKind::graph,
                    "backward of 'mine': returned 0 gradients for 1 inputs");
  EXPECT_TAPE_ERROR(backward_of([](const BackwardContext&) { return Tensors{ones({3})}; }), ErrorKind::shape,
                    "backward of 'mine': the gradient of input 0 is f32 [3], the input is f32 [2]");
}

}  // namespace
}  // namespace tape
