#include "autograd/gradcheck/gradcheck.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "tests/autograd/gradcheck/wrong_gradient.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

using testing::HasSubstr;

Tensor values(const Shape& shape, uint64_t seed = 1) {
  Generator stream(seed);
  return randn(shape, f64, stream);
}

std::string report_of_wrong_gradient(const Shape& shape, const std::function<Tensor(const Tensor&)>& spoil) {
  const GradcheckReport report = gradcheck([&](const Tensors& in) { return square_with_wrong_gradient(in[0], spoil); },
                                           {values(shape)}, {.names = {"x"}});
  EXPECT_FALSE(report.ok());
  return to_string(report);
}

/// Changes one element of the gradient.
Tensor with_element(const Tensor& x, int64_t element, const std::function<double(double)>& change) {
  Tensor y = x.detach().clone();
  double* data = y.mutable_data<double>();
  data[element] = change(data[element]);
  return y;
}

TEST(Gradcheck, AcceptsCorrectGradients) {
  const auto f = [](const Tensors& in) { return tanh(matmul(in[0], in[1]) + in[2]) * sigmoid(in[0]); };
  const GradcheckReport report = gradcheck(f, {values({3, 4}, 1), values({4, 4}, 2), values({4}, 3)});
  EXPECT_TRUE(gradients_match(report));
  ASSERT_EQ(report.variables.size(), 3u);
  EXPECT_EQ(report.variables[0].name, "input 0");
  EXPECT_EQ(report.variables[1].checked, 16);
  for (const auto& variable : report.variables) {
    EXPECT_EQ(variable.wrong, 0);
    EXPECT_LT(variable.max_error, 1e-6);
    EXPECT_EQ(variable.explanation, "");
  }
}

TEST(Gradcheck, ComparesGradientsToOnePartInAMillion) {
  const auto wrong = [](double factor) {
    const auto f = [&](const Tensors& in) {
      return square_with_wrong_gradient(in[0], [&](const Tensor& g) { return g * factor; });
    };
    return gradcheck(f, {tensor({0.5, -1.0, 2.0}, f64)}, {.blame = false}).variables[0].wrong;
  };
  EXPECT_EQ(wrong(1 + 5e-7), 0);
  EXPECT_EQ(wrong(1 - 5e-7), 0);
  EXPECT_EQ(wrong(1 + 2e-6), 3);
  EXPECT_EQ(wrong(1 - 2e-6), 3);
}

TEST(Gradcheck, AcceptsScalarsAndEmptyShapes) {
  const auto f = [](const Tensors& in) { return in[0] * in[1]; };
  EXPECT_TRUE(gradients_match(gradcheck(f, {values({}), values({2}, 2)})));
  EXPECT_TRUE(gradients_match(gradcheck(f, {values({0, 3}), values({0, 3})})));
}

TEST(Gradcheck, AcceptsViewsOfTheInput) {
  EXPECT_TRUE(gradients_match(gradcheck([](const Tensors& in) { return reshape(in[0], {6}); }, {values({2, 3})})));
}

TEST(Gradcheck, NamesAConstantFactor) {
  const std::string report = report_of_wrong_gradient({2, 3}, [](const Tensor& g) { return g * 1.01; });
  EXPECT_THAT(report, HasSubstr("x [2, 3]: 6 of 6 elements are wrong; the worst at ["));
  EXPECT_THAT(report, HasSubstr("Every element is 1.01 times the numeric value: a constant factor is wrong."));
}

TEST(Gradcheck, NamesOneWrongElementOfManyAndItsFactor) {
  const std::string report = report_of_wrong_gradient(
      {8, 8}, [](const Tensor& g) { return with_element(g, 29, [](double v) { return 1.5 * v; }); });
  EXPECT_THAT(report, HasSubstr("x [8, 8]: 1 of 64 elements is wrong; at [3, 5]: analytic "));
  EXPECT_THAT(report, HasSubstr("(relative error 0.33). It is 1.5 times the numeric value."));
}

TEST(Gradcheck, NamesAWrongSign) {
  EXPECT_THAT(report_of_wrong_gradient({2, 3}, [](const Tensor& g) { return -g; }),
              HasSubstr("Every element has the opposite sign: a minus is missing, or one too many."));
}

TEST(Gradcheck, NamesATransposedGradient) {
  const std::string sentence = "The gradient is right once its last two axes are exchanged: it is transposed.";
  EXPECT_THAT(report_of_wrong_gradient({3, 3}, [](const Tensor& g) { return transpose(g); }), HasSubstr(sentence));
  EXPECT_THAT(report_of_wrong_gradient({2, 3},
                                       [](const Tensor& g) {
                                         return reshape(transpose(g), {2, 3});
                                       }),
              HasSubstr(sentence));
}

/// y = x + b with the bias gradient computed by `reduce` instead of a sum over the rows.
GradcheckReport check_bias(const std::function<Tensor(const Tensor&)>& reduce) {
  const auto f = [&](const Tensors& in) {
    return custom(
        "add_bias", in, [](const Tensors& x) { return x[0] + x[1]; },
        [&](const BackwardContext& c) -> Tensors {
          return {c.grad(), reduce(c.grad())};
        });
  };
  return gradcheck(f, {values({4, 3}, 1), values({3}, 2)}, {.names = {"x", "bias"}});
}

TEST(Gradcheck, NamesAMissingBatchSum) {
  EXPECT_TRUE(gradients_match(check_bias([](const Tensor& g) { return sum(g, 0); })));
  EXPECT_THAT(to_string(check_bias([](const Tensor& g) { return select(g, 0, 0); })),
              HasSubstr("It is only the part that comes through position 0 of axis 0 of the output [4, 3]: a sum over "
                        "that axis (the batch) is missing."));
  EXPECT_THAT(to_string(check_bias([](const Tensor& g) { return mean(g, 0); })),
              HasSubstr("Every element is 0.25 times the numeric value: a constant factor is wrong (4 is the size of "
                        "axis 0 of the output [4, 3]: a mean instead of a sum?)"));
  EXPECT_THAT(to_string(check_bias([](const Tensor& g) { return sum(slice(g, 0, {.end = 3}), 0); })),
              HasSubstr("The part that comes through position 3 of axis 0 of the output [4, 3] is missing."));
}

TEST(Gradcheck, NamesADroppedTerm) {
  // y = x * sum(x); the recorded gradient lacks the term through the sum.
  const auto f = [](const Tensors& in) { return in[0] * sum(in[0]).detach(); };
  const GradcheckReport report = gradcheck(f, {values({5})});
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(to_string(report), HasSubstr("Every element is off by the same amount, "));
  EXPECT_THAT(to_string(report), HasSubstr(": a term is missing, or one too many."));
}

TEST(Gradcheck, NamesWrongRowsAndColumns) {
  const auto spoil_row = [](const Tensor& g) {
    Tensor y = g.detach().clone();
    for (int64_t i = 0; i < 3; ++i) y.mutable_data<double>()[2 * 3 + i] += 0.5 + static_cast<double>(i * i);
    return y;
  };
  EXPECT_THAT(report_of_wrong_gradient({5, 3}, spoil_row), HasSubstr("Only row 2 is wrong."));
  const auto spoil_columns = [](const Tensor& g) {
    Tensor y = g.detach().clone();
    for (int64_t i = 0; i < 3; ++i) {
      y.mutable_data<double>()[i * 5 + 1] *= 3;
      y.mutable_data<double>()[i * 5 + 4] *= 3;
    }
    return y;
  };
  EXPECT_THAT(
      report_of_wrong_gradient({3, 5}, spoil_columns),
      HasSubstr("Every wrong element is 3 times the numeric value: a constant factor is wrong (3 is the size of "
                "axis 0 of the output [3, 5]: a sum instead of a mean?) Only columns 1, 4 are wrong."));
}

TEST(Gradcheck, NamesSwappedGradients) {
  const auto f = [](const Tensors& in) {
    return custom(
        "product", in, [](const Tensors& x) { return x[0] * x[1]; },
        [](const BackwardContext& c) -> Tensors {
          return {c.grad() * c.saved(0), c.grad() * c.saved(1)};
        });
  };
  const std::string report = to_string(gradcheck(f, {values({4}, 1), values({4}, 2)}, {.names = {"a", "b"}}));
  EXPECT_THAT(report, HasSubstr("It is the gradient of b: the two are swapped."));
  EXPECT_THAT(report, HasSubstr("It is the gradient of a: the two are swapped."));
}

TEST(Gradcheck, RefusesAnUndeclaredZeroGradient) {
  const auto detached = [](const Tensors& in) { return in[0] * in[1].detach(); };
  const GradcheckReport report = gradcheck(detached, {values({3}, 1), values({3}, 2)});
  EXPECT_TRUE(report.variables[0].ok());
  EXPECT_FALSE(report.variables[1].ok());
  EXPECT_THAT(to_string(report), HasSubstr("The gradient is all zero, the differences are not: was the value detached, "
                                           "or its gradient left out?"));

  // A softmax without a random projection after it, and a constant: the numeric differences are zero as well.
  const auto unused = [](const Tensors& in) { return in[0] + in[1] * 0; };
  const Tensors inputs{values({3}, 1), values({3}, 2)};
  EXPECT_THAT(to_string(gradcheck(unused, inputs)),
              HasSubstr("input 1 [3]: The gradient is all zero, and so are the differences: the output does not depend "
                        "on it here. If that is right, name \"input 1\" in allow_zero."));
  EXPECT_TRUE(gradients_match(gradcheck(unused, inputs, {.allow_zero = {"input 1"}})));
  // Declared zero, but the numeric differences are not.
  EXPECT_FALSE(gradcheck(detached, inputs, {.allow_zero = {"input 1"}}).ok());
}

TEST(Gradcheck, FailsIfNothingIsRecorded) {
  const GradcheckReport report = gradcheck([](const Tensors& in) { return square(in[0].detach()); }, {values({2})});
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.variables[0].wrong, 2);
}

TEST(Gradcheck, NamesNaN) {
  const auto to_nan = [](double) { return std::numeric_limits<double>::quiet_NaN(); };
  EXPECT_THAT(report_of_wrong_gradient({2, 3}, [&](const Tensor& g) { return with_element(g, 4, to_nan); }),
              HasSubstr("1 of 6 elements of the gradient is NaN or infinite, the first (NaN) at [1, 1]."));
  EXPECT_THAT(
      to_string(gradcheck([](const Tensors& in) { return log(in[0]); }, {tensor({-1, 2}, f64)})),
      HasSubstr("The function itself is not finite near these inputs: 2 of the differences are not, the first at "
                "[0]."));
}

TEST(Gradcheck, PrintsATable) {
  const std::string report = to_string(check_bias([](const Tensor& g) { return -sum(g, 0); }));
  EXPECT_THAT(report, testing::MatchesRegex("gradcheck: 1 of 2 gradients is wrong\n"
                                            "gradient of  shape   max rel error  wrong  verdict\n"
                                            "x            \\[4, 3\\]        [0-9.e-]+   0/12  ok\n"
                                            "bias         \\[3\\]           2.0e\\+00    3/3  WRONG\n"
                                            "\n"
                                            "bias \\[3\\]: 3 of 3 elements are wrong; .*"));
  const GradcheckReport right = gradcheck([](const Tensors& in) { return square(in[0]); }, {values({2})});
  EXPECT_THAT(to_string(right), testing::StartsWith("gradcheck: all 1 gradients are right\n"));
}

TEST(Gradcheck, TreatsConstantInfinitiesAsUnchanged) {
  // Masked scores are -infinity whatever x is.
  const Tensor mask = eq(tensor({0, 1, 0}, f64), 1);
  const auto f = [&](const Tensors& in) { return masked_fill(square(in[0]), mask, -INFINITY); };
  EXPECT_TRUE(gradients_match(gradcheck(f, {values({3})})));
}

TEST(Gradcheck, ChecksASampleOfLargeInputs) {
  const auto f = [](const Tensors& in) { return square(in[0]); };
  const GradcheckReport report = gradcheck(f, {values({20, 30})}, {.max_elements = 50});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables[0].checked, 50);
  EXPECT_THAT(to_string(report), HasSubstr("0/50 of 600"));
}

TEST(Gradcheck, ChecksVariablesInPlaceAndRestoresThem) {
  Tensor weight = values({2, 2}, 1), bias = values({2}, 2);
  weight.requires_grad_();
  const std::vector<double> before = weight.to_vector<double>();
  const Tensor x = values({3, 2}, 3);
  const auto f = [&] { return tanh(matmul(x, weight) + bias); };
  EXPECT_TRUE(gradients_match(gradcheck_variables(f, {{"weight", weight}, {"bias", bias}})));
  EXPECT_EQ(weight.to_vector<double>(), before);
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_FALSE(bias.requires_grad());
  EXPECT_FALSE(weight.grad().defined());
}

TEST(Gradcheck, FreezesRandomStreams) {
  const auto noisy = [](const Tensors& in) { return in[0] * rand({4}, f64, generator(Stream::dropout)); };
  const uint64_t before = generator(Stream::dropout).counter();
  EXPECT_TRUE(gradients_match(gradcheck(noisy, {values({4})})));
  EXPECT_EQ(generator(Stream::dropout).counter(), before);
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Gradcheck, RefusesInputsAndOptionsItCannotCheck) {
  const auto f = [](const Tensors& in) { return square(in[0]); };
  EXPECT_EQ(message_of([&] {
              gradcheck(f, {ones({2}, f32), ones({2}, f64)});
            }),
            "gradcheck: input 0 is f32 and input 1 is f64; pass all f64, or all f32 for a check in f32");
  EXPECT_EQ(message_of([&] { gradgradcheck(f, {ones({2}, f32)}); }),
            "gradgradcheck: the inputs are f32; pass f64, which differences need for precision");
  const Tensor single = ones({2}, f32).requires_grad_();
  EXPECT_EQ(message_of([&] {
              gradcheck_variables([&] { return single; }, {{"x", single}});
            }),
            "gradcheck: x is f32; pass f64, which differences need for precision");
  EXPECT_EQ(message_of([&] { gradcheck(f, {ones({2}, f64)}, {.allow_zero = {"y"}}); }),
            "gradcheck: allow_zero names 'y', which is not checked");
  EXPECT_EQ(message_of([&] {
              gradcheck(f, {ones({2}, f64)}, {.names = {"x", "y"}});
            }),
            "gradcheck: got 2 names for 1 inputs");
  EXPECT_EQ(message_of([&] { gradcheck([](const Tensors& in) { return cast(in[0], f32); }, {ones({2}, f64)}); }),
            "gradcheck: the output must be f64, got f32");
  double calls = 0;
  EXPECT_EQ(message_of([&] { gradcheck([&](const Tensors& in) { return in[0] * ++calls; }, {ones({2}, f64)}); }),
            "gradcheck: the function returned 1 and then 2 for the same inputs");
  const Tensor leaf = ones({2}, f64).requires_grad_();
  EXPECT_EQ(message_of([&] {
              gradcheck_variables([&] { return leaf; }, {{"x", leaf * 2}});
            }),
            "gradcheck: x is the result of 'affine'; pass a leaf");
}

TEST(Gradcheck, PassesIntegerInputsThrough) {
  const auto f = [](const Tensors& in) { return in[0] * cast(in[1], f64); };
  const GradcheckReport report = gradcheck(f, {values({3}), arange(1, 4)});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables.size(), 1u);
}

TEST(Gradgradcheck, AcceptsCorrectSecondDerivatives) {
  const auto f = [](const Tensors& in) { return tanh(matmul(in[0], in[1])); };
  const GradcheckReport report = gradgradcheck(f, {values({2, 3}, 1), values({3, 2}, 2)});
  EXPECT_TRUE(gradients_match(report));
  EXPECT_EQ(report.variables.back().name, "head");
}

TEST(Gradgradcheck, AcceptsLinearFunctions) {
  EXPECT_TRUE(gradients_match(gradgradcheck([](const Tensors& in) { return in[0] * 3; }, {values({2, 3})})));
  EXPECT_TRUE(
      gradients_match(gradgradcheck([](const Tensors& in) { return in[0] + in[1]; }, {values({2}), values({2})})));
}

TEST(Gradgradcheck, FindsAGradientThatIsNotRecorded) {
  // The first derivative is correct, but the factor 2x is detached from x.
  const auto f = [](const Tensors& in) {
    return square_with_wrong_gradient(in[0], [](const Tensor& g) { return g.detach(); });
  };
  EXPECT_TRUE(gradients_match(gradcheck(f, {values({3})})));
  EXPECT_FALSE(gradgradcheck(f, {values({3})}).ok());
}

TEST(GradcheckOptions, RefusesStepsTolerancesAndCountsOutOfRange) {
  const auto twice = [](const Tensors& in) { return in[0] * 2; };
  const Tensor x = ones({2}, f64);
  EXPECT_TAPE_ERROR(gradcheck(twice, {x}, {.eps = 0}), ErrorKind::config,
                    "gradcheck: eps and rtol must be positive and atol not negative, got 0, 1e-06 and 1e-08");
  EXPECT_TAPE_ERROR(gradcheck(twice, {x}, {.max_elements = -1}), ErrorKind::config,
                    "gradcheck: max_elements must not be negative, got -1");
  EXPECT_TAPE_ERROR(gradcheck(twice, {x}, {.directions = -2}), ErrorKind::config,
                    "gradcheck: directions must not be negative, got -2");
  EXPECT_TAPE_ERROR(gradcheck(twice, {x}, {.f32_rtol = 0}), ErrorKind::config,
                    "gradcheck: f32_rtol must be positive, got 0");
}

TEST(Gradcheck, RefusesAnUndefinedOrChangingResult) {
  const Tensor x = ones({2}, f64);
  EXPECT_TAPE_ERROR(gradcheck([](const Tensors&) { return Tensor(); }, {x}), ErrorKind::graph,
                    "gradcheck: the function returned an undefined tensor");
  int calls = 0;
  EXPECT_TAPE_ERROR(gradcheck([&](const Tensors& in) { return calls++ ? in[0] : sum(in[0]); }, {x}), ErrorKind::shape,
                    "gradcheck: the function returned [] first and [2] now");
}

TEST(Gradcheck, ChecksAFunctionOfGradients) {
  const auto penalty = [](const Tensors& in) {
    const Tensor first = grad({sum(pow(in[0], 3) * in[1])}, {in[0]}, {.create_graph = true})[0];
    return sum(square(first));
  };
  EXPECT_TRUE(gradients_match(gradcheck(penalty, {sample_normal({3}), sample_normal({3}, 2)})));
  EXPECT_TRUE(gradients_match(gradcheck(penalty, {sample_normal({3}).to(f32), sample_normal({3}, 2).to(f32)})));
  const auto cut = [](const Tensors& in) {  // without create_graph
    const Tensor y = sum(pow(in[0], 3));
    return sum(grad({y}, {in[0]}, {.retain_graph = true})[0]) + y;
  };
  EXPECT_FALSE(gradcheck(cut, {sample_normal({3})}).ok());
}

TEST(Gradcheck, RefusesToCheckNothing) {
  const std::string message =
      "gradcheck: there is no gradient to check: no input is floating, and no parameter requires gradients";
  const auto f = [](const Tensors&) { return ones({2}, f64); };
  EXPECT_TAPE_ERROR(gradcheck(f, {}), ErrorKind::config, message);
  EXPECT_TAPE_ERROR(gradcheck(f, {tensor({1, 2}, i64)}), ErrorKind::config, message);
}

}  // namespace
}  // namespace tape
