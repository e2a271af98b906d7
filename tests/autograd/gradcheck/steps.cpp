// Finite-difference steps: cases where the default step crosses a kink or a pole, and cases where no step decides.

#include <gmock/gmock.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/trigonometry.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/reduce/statistics.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Tried {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
  double least = 0, most = INFINITY;  // range of |x| in which the function is informative
  bool negative = true;
};

std::vector<Tried> tried() {
  return {{"sqrt", [](const Tensor& x) { return sqrt(x); }, 0, INFINITY, false},
          {"log", [](const Tensor& x) { return log(x); }, 0, INFINITY, false},
          {"log abs", [](const Tensor& x) { return log(abs(x)); }},
          {"reciprocal", [](const Tensor& x) { return 1 / x; }},
          {"pow 3", [](const Tensor& x) { return pow(x, 3); }},
          {"pow 1.5", [](const Tensor& x) { return pow(x, 1.5); }, 0, INFINITY, false},
          {"pow -2", [](const Tensor& x) { return pow(x, -2); }},
          {"abs", [](const Tensor& x) { return abs(x); }},
          {"relu", [](const Tensor& x) { return relu(x); }},
          {"clamp", [](const Tensor& x) { return clamp(x, 0, 1e30); }},
          {"atan2", [](const Tensor& x) { return atan2(x, 2 * abs(x)) * x; }},
          {"sin", [](const Tensor& x) { return sin(x); }},
          {"norm", [](const Tensor& x) { return norm(x); }, 0, INFINITY, false}};
}

const std::vector<double>& sizes() {
  static const std::vector<double> all{1e-3, 1e-6, 3e-7, 1e-8, 1e-10, 1e-12, 1, 1e6, 1e9, 1e12};
  return all;
}

/// y = f(x) with its gradient multiplied by a factor.
Tensor off_by(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, double factor) {
  return custom(
      "off", {x}, [f](const Tensors& in) { return f(in[0]); },
      [f, factor](const BackwardContext& c) -> Tensors {
        const EnableGrad recording;
        const Tensor leaf = c.saved(0).detach().requires_grad_();
        return {grad({f(leaf)}, {leaf}, {.gradients = {c.grad().detach()}})[0] * factor};
      });
}

std::vector<double> points(const Tried& one) {
  std::vector<double> all;
  for (const double size : sizes()) {
    if (size < one.least || size > one.most) continue;
    all.push_back(1.3 * size);
    if (one.negative) all.push_back(-0.7 * size);
  }
  return all;
}

TEST(GradcheckSteps, AcceptCorrectGradientsOfSmallAndLargeValues) {
  for (const Tried& one : tried())
    for (const double x : points(one)) {
      const GradcheckReport report =
          gradcheck([&](const Tensors& in) { return one.f(in[0]); }, {full({1}, x, f64)}, {.allow_zero = {"input 0"}});
      EXPECT_TRUE(report.ok()) << one.name << " at " << x << ": " << report;
      EXPECT_EQ(report.variables[0].kinks, 0) << one.name << " at " << x;
    }
}

TEST(GradcheckSteps, FindWrongGradientsOfSmallAndLargeValues) {
  for (const double factor : {1.01, -1.0, 0.0, 2.0})
    for (const Tried& one : tried())
      for (const double x : points(one)) {
        const auto f = [&](const Tensors& in) { return off_by(one.f, in[0], factor); };
        const Tensor at = full({1}, x, f64);
        const GradcheckReport right = gradcheck([&](const Tensors& in) { return off_by(one.f, in[0], 1); }, {at},
                                                {.allow_zero = {"input 0"}, .blame = false});
        EXPECT_TRUE(right.ok()) << one.name << " at " << x << ": " << right;
        // The gradient of relu is zero for negative x, whatever the factor.
        if (one.f(at).item() == 0) continue;
        const GradcheckReport report = gradcheck(f, {at}, {.allow_zero = {"input 0"}, .blame = false});
        EXPECT_EQ(report.variables[0].wrong, 1) << one.name << " times " << factor << " at " << x << ": " << report;
      }
}

TEST(GradcheckSteps, ReportTheValueAndTheStepThatIsTooLarge) {
  const auto f = [](const Tensors& in) { return log(abs(in[0])); };
  const GradcheckReport report = gradcheck(f, {tensor({2.0, -1.25e-8, 3.0}, f64)});
  EXPECT_TRUE(gradients_match(report));
  const GradcheckResult& x = report.variables[0];
  EXPECT_EQ(x.large_steps, 1);
  EXPECT_EQ(x.large_step_at, std::vector<int64_t>{1});
  EXPECT_EQ(x.large_step_value, -1.25e-8);
  EXPECT_EQ(x.large_step, 1e-6);
  EXPECT_GT(x.smaller_step, 0);
  EXPECT_LT(x.smaller_step, 1.25e-8);
  EXPECT_THAT(to_string(report), StartsWith("gradcheck: all 1 gradients are right\n"));
  EXPECT_THAT(to_string(report),
              HasSubstr("\ninput 0 [3]: the step is too large for 1 of 3 elements, and a smaller one confirms its "
                        "gradient: at [1] the value is -1.25e-08, the step 1e-06, and the smaller one "));
}

TEST(GradcheckSteps, AdaptToKinksAndPolesAwayFromZero) {
  const auto f = [](const Tensors& in) { return log(abs(in[0] - 1)) + abs(in[0] - 3) + 1 / (in[0] - 5); };
  EXPECT_TRUE(gradients_match(gradcheck(f, {tensor({1 + 1e-8, 1 - 1e-7, 3 + 1e-8, 3 - 1e-9, 5 + 1e-7}, f64)})));
}

TEST(GradcheckSteps, AdaptToFunctionsThatOscillateAtLargeValues) {
  EXPECT_TRUE(gradients_match(gradcheck([](const Tensors& in) { return sin(in[0]); }, {tensor({1e6, 3e8}, f64)})));
}

/// floor(x) with the stated gradient.
Tensor my_floor(const Tensor& x, double stated) {
  return custom(
      "my_floor", {x},
      [](const Tensors& in) {
        Tensor y = in[0].detach().clone();
        double* value = y.mutable_data<double>();
        for (int64_t i = 0; i < y.numel(); ++i) value[i] = std::floor(value[i]);
        return y;
      },
      [stated](const BackwardContext& c) -> Tensors { return {c.grad() * stated}; });
}

TEST(GradcheckSteps, AcceptFloorBetweenTwoIntegers) {
  // The default step spans up to a million integers.
  const auto whole = [](const Tensors& in) { return my_floor(in[0], 0); };
  const Tensor x = tensor({1e-12, 1e-3, 0.5, 1e6 + 0.5, 12345678.25, 7.75e8 + 0.25, 1e12 + 0.5}, f64);
  EXPECT_TRUE(gradients_match(gradcheck(whole, {x}, {.allow_zero = {"input 0"}})));
  const auto saw = [](const Tensors& in) { return in[0] - my_floor(in[0], 0); };
  EXPECT_TRUE(gradients_match(gradcheck(saw, {x})));
  const auto wrong = [](const Tensors& in) { return my_floor(in[0], 1); };
  EXPECT_FALSE(gradcheck(wrong, {tensor({0.5}, f64)}).ok());
  EXPECT_FALSE(gradcheck(wrong, {tensor({1e6 + 0.5}, f64)}).ok());
}

TEST(GradcheckSteps, ReportUndecidedIfNoStepDecides) {
  const GradcheckReport report = gradcheck([](const Tensors& in) { return sqrt(in[0]); }, {tensor({0.0, 2.0}, f64)});
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.variables[0].wrong, 0);
  EXPECT_EQ(report.variables[0].undecided, 1);
  EXPECT_EQ(report.variables[0].undecided_at, std::vector<int64_t>{0});
  EXPECT_TRUE(report.guilty.empty());
  EXPECT_THAT(to_string(report), StartsWith("gradcheck: 0 of 1 gradients are wrong, 1 is undecided\n"));
  EXPECT_THAT(to_string(report), HasSubstr("0/2  UNDECIDED\n"));
  EXPECT_THAT(to_string(report),
              HasSubstr("\ninput 0 [2]: 1 of 2 elements is undecided, neither right nor wrong: at [0] "
                        "the value is 0 and the gradient "));
  EXPECT_THAT(to_string(report), HasSubstr(", and the function is not finite below it."));
}

TEST(GradcheckSteps, DoNotHideAWrongElementNextToAnUndecidedOne) {
  const auto f = [](const Tensors& in) { return off_by([](const Tensor& x) { return sqrt(x); }, in[0], 1.01); };
  const GradcheckReport report = gradcheck(f, {tensor({0.0, 2.0}, f64)});
  EXPECT_EQ(report.variables[0].wrong, 1);
  EXPECT_EQ(report.variables[0].undecided, 1);
  EXPECT_THAT(to_string(report), StartsWith("gradcheck: 1 of 1 gradients is wrong\n"));
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "off");
}

TEST(GradcheckSteps, BlameNoOperationForAPointWithoutDerivative) {
  const GradcheckReport angle = gradcheck([](const Tensors& in) { return atan2(in[0], in[1]); },
                                          {tensor({0.0, 1.0}, f64), tensor({0.0, 1.0}, f64)});
  EXPECT_FALSE(angle.ok());
  EXPECT_TRUE(angle.guilty.empty()) << angle;
  const GradcheckReport root = gradcheck([](const Tensors& in) { return sqrt(in[0]); }, {tensor({0.0, 2.0}, f64)});
  EXPECT_FALSE(root.ok());
  EXPECT_TRUE(root.guilty.empty()) << root;
  // A norm whose documented gradient at this point is 0.
  EXPECT_TRUE(gradcheck([](const Tensors& in) { return norm(in[0], -1); }, {tensor({0.0, 2.0}, f64)}).ok());
}

TEST(GradcheckSteps, FindTheWrongOperationAmongOthersNearPoles) {
  // Near their pole, many logarithms have far larger numeric errors than the operation that is 1% off.
  const auto f = [](const Tensors& in) {
    Tensor total = off_by([](const Tensor& x) { return tanh(x); }, in[1], 1.01);
    for (int i = 0; i < 12; ++i) total = total + 1e-9 * log(abs(in[0] * (1 + 0.1 * i)));
    return total;
  };
  const GradcheckReport report = gradcheck(f, {tensor({1e-8, -2e-8}, f64), tensor({0.5, -0.25}, f64)});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "off");
  EXPECT_TRUE(report.variables[0].ok()) << report;
}

}  // namespace
}  // namespace tape
