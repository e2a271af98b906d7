// Finds tensors with gradients that a module uses without registering them.

#include "nn/gradcheck/check_registered.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/trace.h"
#include "nn/gradcheck/gradcheck.h"
#include "nn/linear.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// `b` is a plain member, and `scale` is not a Parameter.
struct Forgetful : Module {
  Child<Linear> a{this, "a", 4, 4};
  Linear b{4, 4};
  Tensor scale = ones({4}).requires_grad_();
  Tensor forward(const Tensor& x) { return call(b, a(x)) * scale; }
};

struct Registered : Module {
  Child<Linear> a{this, "a", 4, 4}, b{this, "b", 4, 4};
  Parameter scale{this, "scale", ones({4})};
  Tensor forward(const Tensor& x) { return b(a(x)) * scale; }
};

TEST(CheckRegistered, AcceptsAModuleWhoseMembersAllRegisterThemselves) {
  Registered model;
  check_registered(sum(call(model, ones({2, 4}))), model);
  model.a->freeze();
  check_registered(sum(call(model, ones({2, 4}))), model);
  EXPECT_TRUE(gradients_match(gradcheck(model, {sample_normal({2, 4})})));
}

TEST(CheckRegistered, ListsAPlainModuleAndATensor) {
  Forgetful model;
  EXPECT_TAPE_ERROR(
      check_registered(sum(call(model, ones({2, 4}))), model), ErrorKind::config,
      "check_registered: the loss depends on 3 tensors with gradients that Forgetful does not register, so they would "
      "not be trained, saved or printed; hold a module as nn::Child and a tensor as nn::Parameter, or list it among "
      "the inputs:\n  [4, 4], first used by linear\n  [4], first used by linear\n  [4], first used by mul");
}

TEST(CheckRegistered, NamesTheModuleAndLineInATraceScope) {
  struct Surrounding : Module {
    Child<Forgetful> inner{this, "inner"};
    Tensor forward(const Tensor& x) { return inner(x); }
  } model;
  const Trace trace;
  const auto found = find_unregistered(sum(call(model, ones({2, 4}))), model);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[2].operation, "mul");
  EXPECT_EQ(found[2].module_path, "inner");
  EXPECT_EQ(found[2].shape, Shape({4}));
  UnregisteredTensor named = found[2];
  named.source = "/home/somebody/layer.cpp:42";
  EXPECT_EQ(to_string(named), "[4], first used by mul (inner), called at layer.cpp:42");
}

TEST(CheckRegistered, ListsAtMostTenTensorsAndCountsTheRest) {
  struct Many : Module {
    Tensors weights;
    Many() {
      for (int i = 0; i < 12; ++i) weights.push_back(ones({4}).requires_grad_());
    }
    Tensor forward(Tensor x) {
      for (const Tensor& weight : weights) x = x * weight;
      return x;
    }
  } model;
  try {
    check_registered(sum(call(model, ones({2, 4}))), model);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("check_registered: the loss depends on 12 tensors with gradients that Many "));
    EXPECT_THAT(error.what(), testing::EndsWith("\n  [4], first used by mul\n  and 2 more"));
  }
}

TEST(CheckRegistered, IgnoresListedInputs) {
  Registered model;
  const Tensor x = ones({2, 4}).requires_grad_();
  const Tensor loss = sum(call(model, x));
  check_registered(loss, model, {x});
  EXPECT_TAPE_ERROR(
      check_registered(loss, model), ErrorKind::config,
      "check_registered: the loss depends on 1 tensor with gradients that Registered does not register, so it would "
      "not be trained, saved or printed; hold a module as nn::Child and a tensor as nn::Parameter, or list it among "
      "the "
      "inputs:\n  [2, 4], first used by linear");
}

TEST(CheckRegistered, RefusesALossWithoutAGraph) {
  Registered model;
  EXPECT_TAPE_ERROR(check_registered(ones({}), model), ErrorKind::graph,
                    "check_registered: the loss [] has no graph: nothing it was computed from requires gradients");
  EXPECT_TAPE_ERROR(check_registered(Tensor(), model), ErrorKind::graph, "check_registered: the loss is undefined");
  const Tensor loss = sum(call(model, ones({2, 4})));
  loss.backward();
  EXPECT_TAPE_ERROR(
      check_registered(loss, model), ErrorKind::graph,
      "check_registered: the tape of 'sum' was freed by a backward; call this before it, or pass retain_graph");
}

TEST(ModuleGradcheck, ListsTensorsThatAreNotRegistered) {
  Forgetful model;
  for (const bool in_f64 : {false, true}) {
    if (in_f64) {
      model.b.to(f64);
      model.scale = ones({4}, f64).requires_grad_();
    }
    const GradcheckReport report = gradcheck(model, {sample_normal({2, 4})});
    EXPECT_FALSE(report.ok());
    ASSERT_EQ(report.unregistered.size(), 3u) << report;
    EXPECT_EQ(report.unregistered[0].shape, Shape({4, 4}));
    EXPECT_EQ(report.unregistered[0].operation, "linear");
    EXPECT_THAT(to_string(report), HasSubstr("\nnot registered: [4, 4], first used by linear"));
    EXPECT_THAT(to_string(report), HasSubstr(", and 3 tensors with gradients are not registered\n"));
    EXPECT_FALSE(gradgradcheck(model, {sample_normal({2, 4})}).ok());
  }
}

TEST(ModuleGradcheck, TakesNoInputForAParameter) {
  Registered model;
  const Tensor x = sample_normal({2, 4}).requires_grad_();
  EXPECT_TRUE(gradients_match(gradcheck(model, {x})));
  // A tensor with gradients that the forward creates is not a parameter either.
  struct Penalty : Module {
    Child<Linear> a{this, "a", 4, 4};
    Tensor forward(const Tensor& in) {
      const Tensor point = (in.detach() * 0 + 1).detach().requires_grad_();
      return a(in) + a(point);
    }
  } penalty;
  const GradcheckReport report = gradcheck(penalty, {sample_normal({2, 4})});
  EXPECT_TRUE(report.unregistered.empty()) << report;
}

}  // namespace
}  // namespace tape::nn
