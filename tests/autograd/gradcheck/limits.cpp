// Cases that an elementwise comparison cannot handle: kinks, large inputs, f32, inputs that share memory or history.

#include <gmock/gmock.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

using testing::HasSubstr;

/// relu whose gradient is `factor` for positive x and `at_zero` at zero.
Tensor my_relu(const Tensor& x, double factor, double at_zero) {
  return custom(
      "my_relu", {x}, [](const Tensors& in) { return relu(in[0]); },
      [=](const BackwardContext& c) -> Tensors {
        Tensor slope = c.saved(0).detach().clone();
        double* value = slope.mutable_data<double>();
        for (int64_t i = 0; i < slope.numel(); ++i) value[i] = value[i] > 0 ? factor : value[i] == 0 ? at_zero : 0;
        return {c.grad() * slope};
      });
}

/// 1 + slope x, computed through sums so large that their rounding moves the result; `stated` is its declared gradient.
Tensor cancelling(const Tensor& x, double slope, double stated) {
  return custom(
      "cancelling", {x}, [=](const Tensors& in) { return 1 + slope * in[0] + (in[0] + 300 - in[0] - 300); },
      [=](const BackwardContext& c) -> Tensors { return {c.grad() * stated}; });
}

TEST(GradcheckRounding, AcceptsAGradientThatCancelsToZeroInsideTheFunction) {
  for (const uint64_t seed : {0U, 1U, 2U, 3U, 4U}) {
    Generator stream(seed);
    const Tensor x = randn({20}, f64, stream);
    const auto f = [&](const Tensors& in) { return cancelling(in[0], 0, 1e-17); };
    EXPECT_TRUE(gradients_match(gradcheck(f, {x}, {.directions = 0}))) << seed;
  }
}

TEST(GradcheckRounding, FindsASmallSlopeDespiteRounding) {
  const auto wrong = [](double slope, double stated) {
    const auto f = [&](const Tensors& in) { return cancelling(in[0], slope, stated); };
    Generator stream(1);
    return gradcheck(f, {randn({20}, f64, stream)}, {.directions = 0}).variables[0].wrong;
  };
  EXPECT_EQ(wrong(1e-7, 1e-7), 0);
  EXPECT_EQ(wrong(1e-7, 1e-17), 20);
  EXPECT_EQ(wrong(1e-7, 1.1e-7), 20);
}

TEST(GradcheckKinks, AreReportedForReluAtZero) {
  const auto f = [](const Tensors& in) { return relu(in[0]); };
  const GradcheckReport report = gradcheck(f, {tensor({-1, 0, 2, 0}, f64)});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables[0].kinks, 2);
  EXPECT_EQ(report.variables[0].kink_at, std::vector<int64_t>{1});
  EXPECT_EQ(report.variables[0].slope_below, 0);
  EXPECT_NE(report.variables[0].slope_above, 0);
  EXPECT_THAT(to_string(report), HasSubstr("0/4  ok but kinks\n"));
  EXPECT_THAT(to_string(report), HasSubstr("input 0 [4]: 2 of 4 elements are at a kink, where there is no gradient to "
                                           "compare with: at [1] the slope is 0 below and "));
}

TEST(GradcheckKinks, AllowEverySlopeBetweenTheTwoSides) {
  for (const double at_zero : {0.0, 0.5, 1.0}) {
    const auto f = [&](const Tensors& in) { return my_relu(in[0], 1, at_zero); };
    EXPECT_TRUE(gradients_match(gradcheck(f, {tensor({-1, 0, 2}, f64)}))) << at_zero;
  }
  for (const double at_zero : {-0.1, 1.1}) {
    const auto f = [&](const Tensors& in) { return my_relu(in[0], 1, at_zero); };
    const GradcheckReport report = gradcheck(f, {tensor({-1, 0, 2}, f64)});
    EXPECT_EQ(report.variables[0].wrong, 1) << at_zero;
    EXPECT_EQ(report.variables[0].kinks, 0) << at_zero;
  }
}

TEST(GradcheckKinks, DoNotMaskAWrongGradientElsewhere) {
  const auto f = [](const Tensors& in) { return my_relu(in[0], 1.001, 0); };
  const GradcheckReport report = gradcheck(f, {tensor({-1, 0, 2}, f64)});
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.variables[0].wrong, 1);
  EXPECT_EQ(report.variables[0].worst, std::vector<int64_t>{2});
  EXPECT_EQ(report.variables[0].kinks, 1);
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].gradient.wrong, 1);
}

TEST(GradcheckKinks, AreFoundThroughOtherOperations) {
  // Both sides of a kink are bent, scaled and summed; the row of zeros puts every unit at a kink.
  const Tensor weight = sample_normal({3, 4}, 2);
  const auto f = [&](const Tensors& in) { return sum(tanh(relu(matmul(in[0], weight))), -1); };
  const GradcheckReport report = gradcheck(f, {tensor({{0, 0, 0}, {1, -2, 0.5}}, f64)});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables[0].kinks, 3);
}

TEST(GradcheckKinks, AreFoundInTiesAndAbsoluteValues) {
  const auto largest = [](const Tensors& in) { return max(in[0], -1); };
  const GradcheckReport ties = gradcheck(largest, {tensor({{1, 1, 0}, {0, 3, 2}}, f64)});
  EXPECT_TRUE(gradients_match(ties));
  EXPECT_EQ(ties.variables[0].kinks, 2);
  const GradcheckReport bent = gradcheck([](const Tensors& in) { return abs(in[0]); }, {tensor({-1, 0, 2}, f64)});
  EXPECT_TRUE(gradients_match(bent));
  EXPECT_EQ(bent.variables[0].kinks, 1);
  const GradcheckReport only = gradcheck([](const Tensors& in) { return abs(in[0]); }, {zeros({2}, f64)});
  EXPECT_TRUE(only.ok());
  EXPECT_THAT(to_string(only), HasSubstr("only kinks"));
}

TEST(GradcheckKinks, DoNotCauseFailuresNearby) {
  // The usual step crosses zero, smaller ones do not.
  const auto f = [](const Tensors& in) { return relu(in[0]); };
  const GradcheckReport report = gradcheck(f, {tensor({2e-8, -3e-8, 4e-7}, f64)});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables[0].kinks, 0);
  EXPECT_FALSE(gradcheck([](const Tensors& in) { return my_relu(in[0], 1.01, 0); }, {tensor({2e-8}, f64)}).ok());
}

TEST(GradcheckKinks, AreNotConfusedWithCurvature) {
  // Curved enough that the two sides of a step differ by far more than the tolerance.
  const auto f = [](const Tensors& in) {
    return custom(
        "bowl", {in[0]}, [](const Tensors& x) { return x[0] * x[0] * 1e4; },
        [](const BackwardContext& c) -> Tensors { return {c.grad() * (c.saved(0) * 2e4 + 0.004)}; });
  };
  EXPECT_FALSE(gradcheck(f, {zeros({2}, f64)}).ok());
}

TEST(GradcheckKinks, AreNotReportedForViews) {
  // A view moves with its input.
  for (const int64_t directions : {0, 3}) {
    const GradcheckReport report = gradcheck(
        [](const Tensors& in) {
          return reshape(in[0], {3, 2});
        },
        {sample_normal({2, 3})}, {.directions = directions});
    EXPECT_TRUE(gradients_match(report));
    EXPECT_EQ(report.variables[0].kinks, 0);
  }
  const auto wrong = [](const Tensors& in) {
    return custom(
        "wrong_view", {in[0]}, [](const Tensors& x) { return reshape(x[0], {6}); },
        [](const BackwardContext& c) -> Tensors {
          return {reshape(c.grad(), {2, 3}) * 0.5};
        });
  };
  const GradcheckReport report = gradcheck(wrong, {sample_normal({2, 3})});
  EXPECT_EQ(report.variables[0].wrong, 6);
  EXPECT_EQ(report.guilty.size(), 1u) << report;
}

TEST(GradcheckFreezes, DropoutAndSamplingStreams) {
  const auto f = [](const Tensors& in) {
    return dropout(in[0], 0.5) * rand({6}, f64, generator(Stream::sampling)) * randn({6}, f64, generator(Stream::init));
  };
  EXPECT_TRUE(gradients_match(gradcheck(f, {sample_normal({6})}, {.allow_zero = {"input 0"}})));
  // Blame runs the function many more times.
  const auto wrong = [&](const Tensors& in) {
    return custom(
        "wrong", {f(in)}, [](const Tensors& x) { return x[0] * 2; },
        [](const BackwardContext& c) -> Tensors { return {c.grad()}; });
  };
  const GradcheckReport report = gradcheck(wrong, {sample_normal({6})});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "wrong");
}

TEST(GradcheckInputs, MayRepeatATensorButNotOverlap) {
  const auto product = [](const Tensors& in) { return in[0] * in[1]; };
  const Tensor x = sample_normal({2, 3});
  EXPECT_TRUE(gradients_match(gradcheck(product, {x, x})));  // each is copied
  EXPECT_TAPE_ERROR(
      gradcheck(product, {x, x[1]}), ErrorKind::graph,
      "gradcheck: input 0 and input 1 overlap in memory, so they cannot vary independently; pass a clone() of "
      "one");
  EXPECT_TRUE(gradients_match(gradcheck(product, {x[0], x[1]})));  // adjacent, without overlap
  const auto both = [&] { return x * x; };
  EXPECT_TAPE_ERROR(gradcheck_variables(both, {{"a", x}, {"b", x}}), ErrorKind::graph,
                    "gradcheck: a and b overlap in memory, so they cannot vary independently; pass a clone() of one");
}

TEST(GradcheckInputs, MayNotDependOnEachOther) {
  const auto product = [](const Tensors& in) { return in[0] * in[1]; };
  const Tensor x = sample_normal({3}).requires_grad_();
  const Tensor y = exp(tanh(x));
  EXPECT_TAPE_ERROR(gradcheck(product, {x, y}), ErrorKind::graph,
                    "gradcheck: input 1 was computed from input 0 ('exp'), so it is not independent; compute it inside "
                    "the function");
  EXPECT_TAPE_ERROR(gradcheck(product, {y, x}, {.names = {"y", "x"}}), ErrorKind::graph,
                    "gradcheck: y was computed from x ('exp'), so it is not independent; compute it inside the "
                    "function");
  EXPECT_TRUE(gradients_match(gradcheck(product, {y, sample_normal({3}, 2)})));
}

/// tanh in f32 and f64. Unless `right_single`, its gradient is correct only in f64.
Tensor my_tanh(const Tensor& x, double factor, bool single_too) {
  return custom(
      "my_tanh", {x}, [](const Tensors& in) { return tanh(in[0]); },
      [=](const BackwardContext& c) -> Tensors {
        const Tensor slope = 1 - square(c.saved(1));
        return {c.grad() * slope * (single_too || c.grad().dtype() == f32 ? factor : 1.0)};
      });
}

TEST(GradcheckSingle, ComparesWithAnF64ShadowFunction) {
  const Tensor x = cast(sample_normal({3, 4}, 1), f32), w = cast(sample_normal({4, 2}, 2), f32);
  const auto check = [&](double factor, bool single_too) {
    return gradcheck([&](const Tensors& in) { return my_tanh(matmul(in[0], in[1]), factor, single_too); }, {x, w});
  };
  const GradcheckReport right = check(1, true);
  EXPECT_TRUE(gradients_match(right));
  EXPECT_GT(right.variables[0].max_error, 1e-9);  // confirms that it ran in f32
  const GradcheckReport wrong = check(1.01, true);
  EXPECT_FALSE(wrong.ok());
  ASSERT_EQ(wrong.guilty.size(), 1u) << wrong;
  EXPECT_EQ(wrong.guilty[0].operation, "my_tanh");
  const GradcheckReport single = check(1.01, false);
  EXPECT_FALSE(single.ok());
  EXPECT_EQ(single.blame,
            "In f64, every operation on the tape has the right gradient for its own inputs: the error occurs in f32 "
            "only.");
}

TEST(GradcheckSingle, AsksForAShadowFunctionIfThereIsNone) {
  const Tensor x = cast(sample_normal({3}), f32);
  const auto single_only = [](const Tensors& in) { return square(cast(in[0], f32)); };
  EXPECT_TAPE_ERROR(gradcheck(single_only, {x}), ErrorKind::dtype,
                    "gradcheck: the output must be f64, got f32; pass .shadow, the same function in f64");
  GradcheckOptions options{.shadow = [](const Tensors& in) { return square(in[0]); }};
  EXPECT_TRUE(gradients_match(gradcheck(single_only, {x}, options)));
  options.shadow = [](const Tensors& in) { return in[0] * 3; };
  EXPECT_THROW(gradcheck(single_only, {x}, options), Error);
  options.shadow = [](const Tensors& in) { return sum(in[0]); };
  EXPECT_TAPE_ERROR(gradcheck(single_only, {x}, options), ErrorKind::shape,
                    "gradcheck: the function returned f32 [3], its f64 shadow []");
}

/// y = x^2 with an error added to its gradient.
Tensor square_off(const Tensor& x, const Tensor& error) {
  return custom(
      "square_off", {x}, [](const Tensors& in) { return square(in[0]); },
      [error](const BackwardContext& c) -> Tensors { return {c.grad() * c.saved(0) * 2 + error}; });
}

TEST(GradcheckDirections, AreUsedForLargeInputs) {
  const Tensor x = sample_normal({60, 50});
  const auto right = [](const Tensors& in) { return square(in[0]) + in[1]; };
  const GradcheckReport report = gradcheck(right, {x, sample_normal({3, 1}, 2)[0]}, {.directions = 3});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables[0].directions, 3);
  EXPECT_EQ(report.variables[0].checked, 3);
  EXPECT_EQ(report.variables[1].directions, 0);  // small enough to check element by element
  EXPECT_GT(report.variables[0].miss_chance, 0);
  EXPECT_LT(report.variables[0].miss_chance, 1e-9);
  EXPECT_LT(report.variables[0].miss_element, 1e-9);
  EXPECT_THAT(to_string(report), HasSubstr("0/3 directions  ok"));
  EXPECT_THAT(to_string(report), HasSubstr("1 gradient was checked along 3 random directions: an error of 1% of a "
                                           "gradient's norm is missed with probability "));
}

TEST(GradcheckDirections, FindErrorsAndExplainThem) {
  const Tensor x = sample_normal({60, 50});
  const auto scaled = [&](const Tensors& in) {
    return custom(
        "scaled", {in[0]}, [](const Tensors& v) { return square(v[0]); },
        [](const BackwardContext& c) -> Tensors { return {c.grad() * c.saved(0) * 2.002}; });
  };
  const GradcheckReport report = gradcheck(scaled, {x}, {.directions = 2});
  EXPECT_EQ(report.variables[0].wrong, 2);
  EXPECT_THAT(report.variables[0].explanation,
              HasSubstr("element is 1.001 times the numeric value: a constant factor is wrong."));
  EXPECT_THAT(report.variables[0].explanation, HasSubstr("Of 64 randomly chosen elements, 6"));
  ASSERT_EQ(report.guilty.size(), 1u);
  EXPECT_EQ(report.guilty[0].operation, "scaled");

  Tensor one = zeros({60, 50}, f64);
  one.mutable_data<double>()[1234] = 1;
  const GradcheckReport single =
      gradcheck([&](const Tensors& in) { return square_off(in[0], one); }, {x}, {.directions = 2});
  EXPECT_EQ(single.variables[0].wrong, 2);
  EXPECT_THAT(single.variables[0].explanation,
              HasSubstr("None of 64 randomly chosen elements is wrong, so few elements are."));
  ASSERT_EQ(single.guilty.size(), 1u) << single;
  EXPECT_EQ(single.guilty[0].gradient.worst, (std::vector<int64_t>{24, 34}));
}

TEST(GradcheckDirections, FallBackToElementsIfAllCrossKinks) {
  Tensor x = sample_normal({60, 50});
  for (int64_t i = 0; i < x.numel(); i += 10) x.mutable_data<double>()[i] = 0;
  const auto check = [&](double factor) {
    return gradcheck([&](const Tensors& in) { return my_relu(in[0], factor, 0); }, {x}, {.directions = 2});
  };
  const GradcheckReport right = check(1);
  EXPECT_TRUE(gradients_match(right));
  EXPECT_EQ(right.variables[0].directions, 0);
  EXPECT_EQ(right.variables[0].checked, 64);
  EXPECT_LT(right.variables[0].kinks, 64);
  EXPECT_FALSE(check(1.0001).ok());
}

/// Share of runs in which one direction misses an error in the gradient of x^2, measured and as the report predicts.
struct Missed {
  double share, stated;
  double deviation;  // standard deviation of the share
};

/// The error points along `shape`, and its length is `part` times the gradient's.
Missed missed_share(const Tensor& shape, double part, double rtol, double GradcheckResult::*chance) {
  const Tensor x = sample_normal({12});
  double stated = 0;
  int missed = 0;
  constexpr int kRuns = 400;
  for (int run = 1; run <= kRuns; ++run) {
    // The random projection, and with it the gradient, differs for each seed.
    Generator stream(static_cast<uint64_t>(run));
    const Tensor gradient = randn({12}, f64, stream) * x * 2;
    const Tensor error = shape * (part * std::sqrt(sum(square(gradient)).item() / sum(square(shape)).item()));
    const GradcheckReport report =
        gradcheck([&](const Tensors& in) { return square_off(in[0], error); }, {x},
                  {.rtol = rtol, .seed = static_cast<uint64_t>(run), .directions = 1, .blame = false});
    missed += report.ok();
    stated += report.variables[0].*chance / kRuns;
  }
  return {static_cast<double>(missed) / kRuns, stated, std::sqrt(stated * (1 - stated) / kRuns)};
}

TEST(GradcheckDirections, MissAsOftenAsStated) {
  // An error of 1% of the gradient's length, and a tolerance so wide that a direction often misses it.
  const Missed notable = missed_share(sample_normal({12}, 3), 0.01, 0.005, &GradcheckResult::miss_chance);
  EXPECT_NEAR(notable.stated, std::erf(0.5 / std::sqrt(2.0)), 0.01);
  EXPECT_NEAR(notable.share, notable.stated, 4 * notable.deviation);
}

TEST(GradcheckDirections, MissAnElementAsOftenAsStated) {
  // The error of one element is as large as an element of average size.
  Tensor one = zeros({12}, f64);
  one.mutable_data<double>()[5] = 1;
  const Missed element = missed_share(one, 1 / std::sqrt(12.0), 0.1, &GradcheckResult::miss_element);
  EXPECT_NEAR(element.stated, std::erf(0.1 * std::sqrt(12.0) / std::sqrt(2.0)), 0.01);
  EXPECT_NEAR(element.share, element.stated, 4 * element.deviation);
}

TEST(GradcheckTime, ChecksAtLeastOneElementOfEachInputAndReportsTheShare) {
  const Tensor x = sample_normal({40, 50}, 1), w = sample_normal({50, 30}, 2);
  const auto f = [](const Tensors& in) { return tanh(matmul(in[0], in[1])); };
  const GradcheckReport none = gradcheck(f, {x, w}, {.max_seconds = 1e-9});
  EXPECT_TRUE(gradients_match(none));
  EXPECT_TRUE(none.out_of_time);
  for (const GradcheckResult& variable : none.variables) EXPECT_EQ(variable.checked, 1);
  EXPECT_DOUBLE_EQ(none.share(), 2.0 / (2000 + 1500));
  EXPECT_DOUBLE_EQ(none.variables[0].share(), 1.0 / 2000);
  EXPECT_THAT(to_string(none), HasSubstr("0.057% of the elements were checked in "));
  const GradcheckReport all = gradcheck(f, {x[0], w}, {.max_elements = 5, .max_seconds = 1e6});
  EXPECT_FALSE(all.out_of_time);
  EXPECT_EQ(all.variables[0].checked, 5);
  EXPECT_THAT(to_string(all), testing::Not(HasSubstr("were checked in")));
}

TEST(GradcheckTime, IsDividedEvenly) {
  const Tensor x = sample_normal({20000}, 1), y = sample_normal({20000}, 2);
  const GradcheckReport report =
      gradcheck([](const Tensors& in) { return exp(in[0]) + sin(in[1]); }, {x, y}, {.max_seconds = 0.3});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_TRUE(report.out_of_time);
  EXPECT_GT(report.variables[1].checked, 1);  // the first input did not use its whole share
}

TEST(GradcheckTime, AlsoLimitsDirections) {
  const GradcheckReport report = gradcheck([](const Tensors& in) { return exp(in[0]); }, {sample_normal({3000})},
                                           {.directions = 50, .max_seconds = 1e-9});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_TRUE(report.out_of_time);
  EXPECT_EQ(report.variables[0].directions, 1);
}

TEST(GradcheckTime, FindsErrorsInASample) {
  const auto f = [](const Tensors& in) { return my_relu(in[0], 2, 0); };
  const GradcheckReport report = gradcheck(f, {sample_normal({200, 100})}, {.max_seconds = 0.02});
  EXPECT_FALSE(report.ok());
  EXPECT_LT(report.variables[0].checked, 20000);
  EXPECT_TAPE_ERROR(gradcheck(f, {sample_normal({2})}, {.max_seconds = -1}), ErrorKind::config,
                    "gradcheck: max_seconds must not be negative, got -1");
}

}  // namespace
}  // namespace tape
