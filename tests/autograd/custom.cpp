#include "autograd/custom.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/trigonometry.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/tape/formula.h"
#include "autograd/tape/op.h"
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

TEST(Custom, RegistersOneOperationPerName) {
  const Tensor x = sample_normal({2}).requires_grad_();
  EXPECT_EQ(swish(x).impl().node->op, swish(x).impl().node->op);
}

TEST(Custom, MayReturnItsInput) {
  Tensor x = ones({2}, f64).requires_grad_();
  const Tensor y = custom(
      "straight_through", {x}, [](const Tensors& in) { return in[0]; },
      [](const BackwardContext& c) -> Tensors { return {c.grad() * 2}; });
  EXPECT_FALSE(y.is(x));
  y.backward({.gradient = ones({2}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({2, 2}, f64)));
}

TEST(Custom, SumsBroadcastAxesAndTreatsUndefinedGradientsAsZero) {
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

/// Length and angle of points in the plane, and a mask of the points with positive x.
Tensors polar(const Tensor& x, const Tensor& y) {
  return custom(
      "polar", {x, y},
      [](ForwardContext& c) -> Tensors {
        const Tensor r = sqrt(square(c.input(0)) + square(c.input(1)));
        c.save({c.input(0), c.input(1), r});
        return {gt(c.input(0), 0.0), r, atan2(c.input(1), c.input(0))};
      },
      [](const BackwardContext& c) -> Tensors {
        // dr = (x dx + y dy) / r; dangle = (x dy - y dx) / r^2. The mask has no gradient and is not counted.
        const Tensor a = c.saved(0), b = c.saved(1), r = c.saved(2), length = c.grad(0) / r,
                     turn = c.grad(1) / square(r);
        return {length * a - turn * b, length * b + turn * a};
      },
      {{"plane", "real"}});
}

TEST(Custom, SupportsSeveralOutputsAndOneWithoutGradient) {
  Tensor x = sample_normal({4}, 1).requires_grad_(), y = sample_normal({4}, 2).requires_grad_();
  const Tensors parts = polar(x, y);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].dtype(), boolean);
  EXPECT_FALSE(parts[0].requires_grad());
  EXPECT_TRUE(parts[1].requires_grad());
  EXPECT_EQ(parts[1].impl().node.get(), parts[2].impl().node.get());
  EXPECT_EQ(to_string(parts[1].impl().node->attributes), "plane=real");
  for (const size_t which : {1U, 2U}) {
    const auto f = [which](const Tensors& in) { return polar(in[0], in[1])[which]; };
    EXPECT_TRUE(gradients_match(gradcheck(f, {x.detach(), y.detach()})));
    EXPECT_TRUE(gradients_match(gradgradcheck(f, {x.detach(), y.detach()})));
  }
  const auto both = [](const Tensors& in) {
    const Tensors p = polar(in[0], in[1]);
    return p[1] * p[2];
  };
  EXPECT_TRUE(gradients_match(gradcheck(both, {x.detach(), y.detach()})));
}

TEST(Custom, SavesTheRequestedValues) {
  const Tensor x = sample_normal({3}).requires_grad_();
  const auto saving = [&](bool second) {
    return custom(
        "saving", {x},
        [second](ForwardContext& c) -> Tensor {
          EXPECT_TRUE(c.needs(0));
          EXPECT_FALSE(c.needs(1));
          EXPECT_FALSE(grad_enabled());
          if (second) c.save({c.input(0)});
          return c.input(0) * 2;
        },
        [](const BackwardContext& c) -> Tensors { return {c.grad() * 2}; });
  };
  EXPECT_TRUE(saving(false).impl().node->saved.empty());
  ASSERT_EQ(saving(true).impl().node->saved.size(), 1u);
  EXPECT_TRUE(saving(true).impl().node->saved[0].value.is(x));
}

TEST(Custom, CanMarkAFloatingOutputAsNotDifferentiable) {
  const Tensor x = sample_normal({3}).requires_grad_();
  const auto call = [&](size_t without) {
    return custom(
        "with_norm", {x},
        [without](ForwardContext& c) -> Tensors {
          c.save({c.input(0)});
          c.mark_non_differentiable(without);
          return {square(c.input(0)), c.input(0)};
        },
        [](const BackwardContext& c) -> Tensors { return {c.grad() * 2 * c.saved(0)}; });
  };
  const Tensors y = call(1);
  EXPECT_TRUE(y[0].requires_grad());
  EXPECT_FALSE(y[1].requires_grad());
  EXPECT_TRUE(tensors_equal(y[1], x.detach()));
  EXPECT_TAPE_ERROR(call(2), ErrorKind::graph,
                    "with_norm: output 2 was marked as not differentiable, but there are 2 outputs");
}

/// x sigmoid(beta x), defined as an operation type.
struct ScaledSwish {
  static constexpr const char* name = "scaled_swish";
  double beta = 1;

  Tensor forward(ForwardContext& c) const {
    c.save({c.input(0)});
    return c.input(0) * sigmoid(beta * c.input(0));
  }
  Tensors backward(const BackwardContext& c) const {
    const Tensor x = c.saved(0), s = sigmoid(beta * x);
    return {c.grad() * (s + beta * x * s * (1 - s))};
  }
  std::vector<AttributeRef> attributes() const { return {{"beta", beta}}; }
  static OpFormula formula() {
    return {.forward = "y{y} = x σ({beta} x)", .backward = {"dx = dy ⊙ (s + {beta} x s (1 − s))"}};
  }
  static std::vector<OpSample> samples() {
    return {{"a row", {sample_normal({2, 3})}, [](const Tensors& in) { return custom(ScaledSwish{2}, in); }}};
  }
};

TEST(CustomType, RecordsItsAttributesAndFormula) {
  const Tensor x = sample_normal({4}).requires_grad_();
  const Tensor y = custom(ScaledSwish{.beta = 2}, {x});
  EXPECT_TRUE(tensors_near(y.detach(), x.detach() * sigmoid(2 * x.detach()), 1e-15));
  EXPECT_STREQ(y.impl().node->name(), "scaled_swish");
  EXPECT_EQ(to_string(y.impl().node->attributes), "beta=2");
  EXPECT_EQ(formula_of(y, {x}).forward, "y [4] = x σ(2 x)");
}

TEST(CustomType, IsRegisteredWithItsSamplesInThisProgramOnly) {
  std::vector<std::string> names;
  for (const Op* op : registered_ops(Origin::program)) names.push_back(op->name());
  EXPECT_EQ(std::count(names.begin(), names.end(), "scaled_swish"), 1);
  for (const Op* op : registered_ops()) EXPECT_STRNE(op->name(), "scaled_swish");
  bool found = false;
  for (const RegisteredCheck& check : registered_checks()) {
    if (check.name != "scaled_swish") continue;
    found = true;
    EXPECT_TRUE(gradients_match(check.samples.at(0).check(Derivative::first, {})));
    EXPECT_TRUE(gradients_match(check.samples.at(0).check(Derivative::second, {})));
  }
  EXPECT_TRUE(found);
}

TEST(Custom, NamesTheOperationInErrors) {
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
  EXPECT_TAPE_ERROR(backward_of([](const BackwardContext& c) { return Tensors{c.grad(1)}; }), ErrorKind::graph,
                    "backward of 'mine': requested the gradient of output 1, but 1 outputs have one");
  EXPECT_TAPE_ERROR(backward_of([](const BackwardContext& c) { return Tensors{c.saved(2)}; }), ErrorKind::graph,
                    "backward of 'mine': requested saved value 2, but 2 were saved");
  const auto reaching = [](ForwardContext& c) { return c.input(1); };
  EXPECT_TAPE_ERROR(custom("mine", {x}, reaching, nullptr), ErrorKind::graph,
                    "mine: the forward function requested input 1, but the number of inputs is 1");
  const auto half = [](ForwardContext& c) -> Tensors { return {c.input(0), Tensor()}; };
  EXPECT_TAPE_ERROR(custom("mine", {x}, half, nullptr), ErrorKind::graph,
                    "mine: the forward function returned an undefined tensor as output 1");
  EXPECT_TAPE_ERROR(backward_of([](const BackwardContext&) { return Tensors{ones({3})}; }), ErrorKind::shape,
                    "backward of 'mine': the gradient of input 0 is f32 [3], the input is f32 [2]");
}

}  // namespace
}  // namespace tape
