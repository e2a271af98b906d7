#include "autograd/ops/elementwise/unary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "autograd/ops/elementwise/activation.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/exponential.h"
#include "autograd/ops/elementwise/rounding.h"
#include "autograd/ops/elementwise/trigonometry.h"
#include "autograd/ops/reduce/reduce.h"
#include "tests/autograd/ops/cases.h"
#include "tests/autograd/ops/unary_functions.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

const std::map<std::string, UnaryFunction> functions = [] {
  std::map<std::string, UnaryFunction> all = unary_functions();
  all["clamp"] = [](const Tensor& x) { return clamp(x, -1, 1.5); };
  return all;
}();

class UnaryReference : public testing::TestWithParam<reference::Unary> {};

TEST_P(UnaryReference, MatchesValuesAndGradients) {
  const UnaryFunction f = functions.at(GetParam().name);
  for (const DType dtype : {f64, f32}) {
    const double tolerance = dtype == f64 ? 1e-13 : 1e-6;
    const Tensor x = from_vector(GetParam().x).to(dtype).requires_grad_();
    const Tensor y = f(x);
    EXPECT_TRUE(tensors_near(y.to(f64), from_vector(GetParam().y), tolerance)) << to_string(dtype);
    const Tensor fused = grad({sum(y)}, {x}, {.retain_graph = true})[0];
    const Tensor recorded = grad({sum(y)}, {x}, {.create_graph = true})[0];
    EXPECT_TRUE(tensors_near(fused.to(f64), from_vector(GetParam().slope), tolerance)) << to_string(dtype);
    EXPECT_TRUE(tensors_near(recorded.to(f64), from_vector(GetParam().slope), tolerance)) << to_string(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, UnaryReference, testing::ValuesIn(reference::unary),
                         [](const auto& function) { return std::string(function.param.name); });

TEST(Unary, EveryFunctionHasAReference) { EXPECT_EQ(functions.size(), reference::unary.size()); }

TEST(Unary, AcceptsInfinity) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {f32, f64}) {
    const Tensor x = tensor({-inf, inf}, dtype);
    EXPECT_TRUE(tensors_equal(exp(x), tensor({0, inf}, dtype)));
    EXPECT_TRUE(tensors_equal(tanh(x), tensor({-1, 1}, dtype)));
    EXPECT_TRUE(tensors_equal(sigmoid(x), tensor({0, 1}, dtype)));
    EXPECT_TRUE(tensors_equal(erf(x), tensor({-1, 1}, dtype)));
    EXPECT_TRUE(tensors_equal(relu(x), tensor({0, inf}, dtype)));
    EXPECT_TRUE(tensors_equal(log(tensor({0, inf, -1}, dtype)), tensor({-inf, inf, NAN}, dtype)));
    EXPECT_TRUE(tensors_equal(sqrt(tensor({0, -1}, dtype)), tensor({0, NAN}, dtype)));
    EXPECT_TRUE(tensors_equal(expm1(x), tensor({-1, inf}, dtype)));
    EXPECT_TRUE(tensors_equal(log1p(tensor({-1, inf, -2}, dtype)), tensor({-inf, inf, NAN}, dtype)));
    EXPECT_TRUE(tensors_equal(exp2(x), tensor({0, inf}, dtype)));
    EXPECT_TRUE(tensors_equal(log2(tensor({0, inf, 8, -1}, dtype)), tensor({-inf, inf, 3, NAN}, dtype)));
    EXPECT_TRUE(tensors_equal(log10(tensor({0, inf, 1000}, dtype)), tensor({-inf, inf, 3}, dtype)));
    EXPECT_TRUE(tensors_equal(sinh(x), x));
    EXPECT_TRUE(tensors_equal(cosh(x), tensor({inf, inf}, dtype)));
    EXPECT_TRUE(tensors_equal(atanh(tensor({-1, 1, 2}, dtype)), tensor({-inf, inf, NAN}, dtype)));
    EXPECT_TRUE(tensors_near(atan(x), tensor({-M_PI_2, M_PI_2}, dtype), 1e-7));
    EXPECT_TRUE(tensors_equal(asin(tensor({-2, 2}, dtype)), tensor({NAN, NAN}, dtype)));
    EXPECT_TRUE(tensors_equal(acos(tensor({1, 2}, dtype)), tensor({0, NAN}, dtype)));
    EXPECT_TRUE(tensors_equal(mish(x), tensor({0, inf}, dtype)));
    EXPECT_TRUE(tensors_equal(softplus(x), tensor({0, inf}, dtype)));
    EXPECT_TRUE(tensors_equal(elu(x), tensor({-1, inf}, dtype)));
    EXPECT_TRUE(tensors_equal(floor(x), x));
  }
}

TEST(Unary, PropagatesNaN) {
  for (const auto& [name, f] : functions)
    for (const DType dtype : {f32, f64})
      EXPECT_TRUE(std::isnan(f(scalar(NAN, dtype)).item())) << name << " " << to_string(dtype);
}

TEST(Unary, GivesEqualResultsInLongVectorsAndAlone) {
  // Lengths around the vector width, where the end of the loop takes another path.
  for (const auto& [name, f] : functions)
    for (const int64_t n : {1, 7, 8, 15, 17, 31, 33, 64, 101}) {
      const Tensor x = 0.4 * abs(grid({n})).to(f32) + 0.1;  // in the domain of all of them
      const Tensor y = f(x);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_NEAR(y[i].item(), f(x[i].clone()).item(), 1e-6 * std::max(1.0, std::abs(y[i].item())))
            << name << " " << n << " " << i;
    }
}

TEST(Unary, AcceptsEmptyTensors) {
  for (const auto& [name, f] : functions) EXPECT_EQ(f(zeros({2, 0})).shape(), Shape({2, 0})) << name;
}

TEST(Unary, SlopesOfActivationsHaveLimits) {
  for (const DType dtype : {f32, f64})
    for (const char* name : {"gelu", "gelu_tanh", "silu", "mish"})
      for (const bool create_graph : {false, true}) {
        const double huge = dtype == f32 ? 1e20 : 1e160;
        const Tensor x = tensor({-INFINITY, -huge, huge, INFINITY}, dtype).requires_grad_();
        const Tensor slope = grad({sum(functions.at(name)(x))}, {x}, {.create_graph = create_graph})[0];
        EXPECT_TRUE(tensors_equal(slope, tensor({0, 0, 1, 1}, dtype))) << name << to_string(dtype) << create_graph;
      }
}

TEST(Unary, OddFunctionsKeepTheSignOfZero) {
  for (const DType dtype : {f32, f64})
    for (const char* name : {"sin", "tan", "tanh", "asin", "atan", "sinh", "atanh", "erf", "expm1", "log1p"})
      for (const double zero : {0.0, -0.0})
        EXPECT_EQ(1 / functions.at(name)(tensor({zero}, dtype)).item(), 1 / zero) << name << to_string(dtype);
}

TEST(Unary, KeepsNoGradientOfAnInputThatIsFrozenLater) {
  for (const auto& [name, f] : functions) {
    Tensor x = full({3}, 0.5, f64).requires_grad_();
    const Tensor y = f(x);
    if (!y.requires_grad()) continue;
    x.requires_grad_(false);
    sum(y).backward();
    EXPECT_FALSE(x.grad().defined()) << name;
  }
}

TEST(Unary, ClampPromotesIntegersIfABoundIsNone) {
  const Tensor x = tensor({0, 1, 5}, i64);
  EXPECT_TRUE(tensors_equal(clamp(x, 1, 4), tensor({1, 1, 4}, i64)));
  EXPECT_TRUE(tensors_equal(clamp(x, 0.5, 2.5), tensor({0.5, 1, 2.5})));
  EXPECT_TRUE(tensors_equal(clamp(x, 1, INFINITY), tensor({1, 1, 5}, i64)));
  EXPECT_TRUE(tensors_equal(clamp(x, -INFINITY, 2), tensor({0, 1, 2}, i64)));
}

TEST(Unary, RefusesIntegersAndInvalidParameters) {
  EXPECT_TAPE_ERROR(exp(arange(3)), ErrorKind::dtype, "exp: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(gelu(tensor({1}, boolean)), ErrorKind::dtype, "gelu: needs a floating dtype, got bool");
  EXPECT_TAPE_ERROR(clamp(tensor({1}), 2, 1), ErrorKind::config, "clamp: the lower bound 2 is above the upper bound 1");
  EXPECT_TAPE_ERROR(clamp(tensor({1}), NAN, 1), ErrorKind::config, "clamp: bounds must be numbers, got nan and 1");
  EXPECT_TAPE_ERROR(clamp(tensor({1}, boolean), 0, 1), ErrorKind::dtype, "clamp: needs numbers, got bool");
  EXPECT_TAPE_ERROR(softplus(tensor({1}), {.beta = 0}), ErrorKind::config, "softplus: beta must be above 0, got 0");
  EXPECT_TAPE_ERROR(elu(arange(3)), ErrorKind::dtype, "elu: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
