// The gradient check of modules; tests/autograd/gradcheck.cpp has that of functions.

#include "nn/gradcheck.h"

#include "autograd/create.h"
#include "autograd/gradcheck_gtest.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/unary.h"
#include "autograd/tape.h"
#include "nn/attention.h"
#include "tests/support.h"

namespace tape::nn {
namespace {

struct Gated : Module {
  Child<Linear> value{this, "value", 3, 3}, gate{this, "gate", 3, 3};
  Tensor forward(const Tensor& x) { return value(x) * sigmoid(gate(x)); }
};

/// Its gate is cut off the tape.
struct Cut : Gated {
  Tensor forward(const Tensor& x) { return value(x) * sigmoid(gate(x).detach()); }
};

TEST(ModuleGradcheck, ChecksInputsAndParametersByName) {
  Gated layer;
  const GradcheckReport report = gradcheck(layer, {randn({2, 3}, f64)});
  EXPECT_TRUE(gradients_match(report));
  ASSERT_EQ(report.variables.size(), 5u);
  EXPECT_EQ(report.variables[0].name, "input");
  EXPECT_EQ(report.variables[1].name, "value.weight");
  EXPECT_EQ(report.variables[4].name, "gate.bias");
  EXPECT_TRUE(gradients_match(gradgradcheck(layer, {randn({2, 3}, f64)})));
}

TEST(ModuleGradcheck, LeavesTheModuleAsItWas) {
  Gated layer;
  call(layer, randn({1, 3})).backward({.gradient = ones({1, 3})});
  const Tensor weight = layer.value->weight, gradient = weight.grad(), before = weight.detach().clone();
  gradcheck(layer, {randn({2, 3}, f64)});
  EXPECT_TRUE(layer.value->weight.is(weight));
  EXPECT_EQ(weight.dtype(), f32);
  EXPECT_TRUE(tensors_equal(weight, before));
  EXPECT_TRUE(weight.grad().is(gradient));
}

TEST(ModuleGradcheck, FindsAGradientThatIsMissing) {
  Cut layer;
  const GradcheckReport report = gradcheck(layer, {randn({2, 3}, f64)});
  EXPECT_FALSE(report.ok());
  for (const GradcheckResult& variable : report.variables)
    EXPECT_EQ(variable.ok(), variable.name.starts_with("value")) << variable.name;
}

TEST(ModuleGradcheck, SkipsFrozenParameters) {
  Gated layer;
  layer.gate->freeze();
  const GradcheckReport report = gradcheck(layer, {randn({2, 3}, f64)});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables.size(), 3u);
}

TEST(ModuleGradcheck, NamesSeveralInputs) {
  MultiHeadAttention layer(4, 2);
  const Tensor x = randn({1, 2, 4}, f64);
  const GradcheckReport report = gradcheck(layer, {x, x, x}, {.allow_zero = {"key.bias"}});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables[2].name, "input 2");
}

TEST(ModuleGradcheck, RefusesInputsThatNoForwardTakes) {
  Gated layer;
  const Tensor x = randn({2, 3}, f64);
  EXPECT_TAPE_ERROR(gradcheck(layer, {x, x}), ErrorKind::config, "gradcheck: Gated has no forward of 2 tensors");
  EXPECT_TAPE_ERROR(gradcheck(layer, {randn({2, 3})}), ErrorKind::dtype,
                    "gradcheck: input is f32; pass f64, differences need its precision");
}

}  // namespace
}  // namespace tape::nn
