// The gradient check of modules; tests/autograd/gradcheck tests it for functions.

#include "nn/gradcheck/gradcheck.h"

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/tape/tape.h"
#include "nn/attention/attention.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

struct Gated : Module {
  Child<Linear> value{this, "value", 3, 3}, gate{this, "gate", 3, 3};
  Tensor forward(const Tensor& x) { return value(x) * sigmoid(gate(x)); }
};

/// A module whose gate is detached.
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

TEST(ModuleGradcheck, DoesNotChangeTheModule) {
  Gated layer;
  call(layer, randn({1, 3})).backward({.gradient = ones({1, 3})});
  const Tensor weight = layer.value->weight, gradient = weight.grad(), before = weight.detach().clone();
  gradcheck(layer, {randn({2, 3}, f64)});
  EXPECT_TRUE(layer.value->weight.is(weight));
  EXPECT_EQ(weight.dtype(), f32);
  EXPECT_TRUE(tensors_equal(weight, before));
  EXPECT_TRUE(weight.grad().is(gradient));
}

TEST(ModuleGradcheck, FindsAMissingGradient) {
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

TEST(ModuleGradcheck, RefusesInputsThatNoForwardAccepts) {
  Gated layer;
  const Tensor x = randn({2, 3}, f64);
  EXPECT_TAPE_ERROR(gradcheck(layer, {x, x}), ErrorKind::config,
                    "gradcheck: Gated has no forward that takes 2 tensors");
}

TEST(ModuleGradcheck, ChecksInSinglePrecisionForF32Inputs) {
  Gated layer;
  EXPECT_TRUE(gradients_match(gradcheck(layer, {randn({2, 3})})));
  EXPECT_EQ(layer.value->weight.dtype(), f32);
  Cut cut;
  const GradcheckReport report = gradcheck(cut, {randn({2, 3})});
  EXPECT_FALSE(report.ok());
  for (const GradcheckResult& variable : report.variables)
    EXPECT_EQ(variable.ok(), variable.name.starts_with("value")) << variable.name;
}

/// A layer whose product only runs in f32.
struct SingleOnly : Module {
  Parameter factor{this, "factor", full({3}, 0.5)};
  double error = 1;
  Tensor forward(const Tensor& x) {
    return custom(
        "single_product", {x, factor},
        [](const Tensors& in) {
          Tensor y = empty(in[0].shape(), f32);
          const float *a = in[0].data<float>(), *b = in[1].data<float>();
          for (int64_t i = 0; i < y.numel(); ++i) y.mutable_data<float>()[i] = a[i] * b[i % 3];
          return y;
        },
        [this](const BackwardContext& c) -> Tensors {
          return {c.grad() * c.saved(1) * error, c.grad() * c.saved(0)};
        });
  }
};

TEST(ModuleGradcheck, ChecksASinglePrecisionLayerAgainstAShadow) {
  SingleOnly layer;
  const Tensor x = randn({2, 3});
  EXPECT_TAPE_ERROR(
      gradcheck(layer, {x}), ErrorKind::dtype,
      "gradcheck: the function does not run in f64 (data: requested f32, but the tensor is f64); pass .shadow, "
      "the same function in f64");
  GradcheckOptions options{.shadow = [](const Tensors& in) { return in[0] * in[1]; }};
  EXPECT_TRUE(gradients_match(gradcheck(layer, {x}, options)));
  layer.error = 1.01;
  const GradcheckReport report = gradcheck(layer, {x}, options);
  EXPECT_FALSE(report.variables[0].ok());
  EXPECT_TRUE(report.variables[1].ok());
  EXPECT_EQ(report.blame, "Operations are not checked one by one for a function with its own f64 shadow.");
  options.shadow = [](const Tensors& in) { return in[0] + in[1]; };
  EXPECT_THROW(gradcheck(layer, {x}, options), Error);
}

}  // namespace
}  // namespace tape::nn
