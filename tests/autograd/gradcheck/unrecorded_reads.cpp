// Values that depend on an input but are used as constants: what a failing gradcheck names, and what it must not blame.

#include "autograd/gradcheck/unrecorded_reads.h"

#include <gmock/gmock.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops.h"
#include "autograd/ops/linalg.h"
#include "tests/autograd/gradcheck/wrong_gradient.h"

namespace tape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Function = std::function<Tensor(const Tensors&)>;

std::vector<std::string> operations(const std::vector<UnrecordedRead>& reads) {
  std::vector<std::string> names;
  for (const UnrecordedRead& read : reads) names.push_back(read.operation + " " + read.value);
  return names;
}

/// Expects that the check fails, that no operation is at fault, and that these reads are named.
template <class Reads>
GradcheckReport expect_reads(const Function& f, const Tensors& inputs, const Reads& reads) {
  const GradcheckReport report = gradcheck(f, inputs);
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.guilty.empty()) << report;
  EXPECT_THAT(operations(report.unrecorded), reads) << report;
  return report;
}

const Tensor& three() {
  static const Tensor x = sample_normal({3}, 3);
  return x;
}

TEST(UnrecordedReads, IncludeADetachedOperandOfADivision) {
  const auto f = [](const Tensors& in) { return in[0] / in[0].detach(); };
  const GradcheckReport report = expect_reads(f, {three()}, ElementsAre("div input 1 [3]"));
  ASSERT_EQ(report.unrecorded.size(), 1u);
  UnrecordedRead read = report.unrecorded[0];
  EXPECT_THAT(read.variables, ElementsAre("input 0"));
  EXPECT_EQ(read.origin, "it is a detach() of input 0");
  read.source = "/home/somebody/layer.cpp:42";
  read.module_path = "norm";
  EXPECT_EQ(to_string(read),
            "unrecorded: div (norm), called at layer.cpp:42, uses input 1 [3] as a constant, but it changes with "
            "input 0: it is a detach() of input 0.");
  read.variables = {"x", "a.weight", "a.bias", "b.weight", "b.bias"};
  EXPECT_THAT(to_string(read), HasSubstr(", but it changes with x, a.weight, a.bias and 2 more: it is"));
  EXPECT_THAT(to_string(report), HasSubstr("\n\nunrecorded: div"));
  EXPECT_THAT(to_string(report), HasSubstr("\nNo operation is guilty: each of the 1 on the tape has"));
}

TEST(UnrecordedReads, IncludeAMeanComputedInANoGradScope) {
  const auto f = [](const Tensors& in) {
    Tensor mean, deviation;
    {
      const NoGrad no_grad;
      mean = tape::mean(in[0], 0);
      deviation = sqrt(tape::mean(square(in[0] - mean), 0));
    }
    return (in[0] - mean) / deviation * in[1];
  };
  const GradcheckReport report = expect_reads(f, {sample_normal({4, 3}, 1), sample_normal({3}, 2)},
                                              ElementsAre("sub input 1 [3]", "div input 1 [3]"));
  for (const UnrecordedRead& read : report.unrecorded) {
    EXPECT_THAT(read.variables, ElementsAre("input 0"));
    EXPECT_EQ(read.origin, "it comes from detach(), a NoGrad scope, data() or item()");
  }
}

TEST(UnrecordedReads, IncludeADetachInTheMiddleOfAChain) {
  const auto f = [](const Tensors& in) {
    const Tensor hidden = exp(in[0]);
    return sin(hidden) * tanh(hidden.detach() * 2) + hidden;
  };
  const GradcheckReport report = expect_reads(f, {three()}, ElementsAre("mul input 1 [3]"));
  const auto twice = [](const Tensors& in) {
    const Tensor hidden = exp(in[0]);
    return sin(hidden) * hidden.detach();
  };
  const GradcheckReport origin = expect_reads(twice, {three()}, ElementsAre("mul input 1 [3]"));
  EXPECT_EQ(origin.unrecorded[0].origin, "it is a detach() of the output of 'exp'");
}

TEST(UnrecordedReads, IncludeValuesCopiedOutAsScalars) {
  const auto item = [](const Tensors& in) { return in[0] * sum(in[0]).item(); };
  const GradcheckReport scaled = gradcheck(item, {three()});
  EXPECT_TRUE(scaled.guilty.empty()) << scaled;
  ASSERT_EQ(scaled.unrecorded.size(), 1u) << scaled;
  EXPECT_THAT(scaled.unrecorded[0].value, HasSubstr("its attribute "));
  EXPECT_EQ(scaled.unrecorded[0].origin, "it comes from data() or item()");
  const auto data = [](const Tensors& in) { return exp(in[0]) + in[0].data<double>()[1]; };
  const GradcheckReport added = gradcheck(data, {three()});
  EXPECT_TRUE(added.guilty.empty()) << added;
  EXPECT_EQ(added.unrecorded.size(), 1u) << added;
  const auto power = [](const Tensors& in) { return pow(exp(in[0]), in[0].data<double>()[1]); };
  const GradcheckReport raised = gradcheck(power, {three()});
  EXPECT_TRUE(raised.guilty.empty()) << raised;
  EXPECT_EQ(raised.unrecorded.size(), 1u) << raised;
  const auto made = [](const Tensors& in) {
    const double* x = in[0].data<double>();
    return in[0] * tensor({x[0], x[1] * 2, x[2]}, f64);
  };
  expect_reads(made, {three()}, ElementsAre("mul input 1 [3]"));
}

TEST(UnrecordedReads, IncludeValuesReadOutsideTheInputs) {
  const auto f = [](const Tensors& in) {
    const double scale = sum(in[0]).item();
    return custom(
        "scaled", {exp(in[0])}, [scale](const Tensors& x) { return x[0] * scale; },
        [scale](const BackwardContext& c) -> Tensors { return {c.grad() * scale}; });
  };
  const GradcheckReport report = expect_reads(f, {three()}, ElementsAre("scaled a value that is not among its inputs"));
  EXPECT_THAT(to_string(report), HasSubstr("uses a value that is not among its inputs as a constant, but it changes "
                                           "with the inputs: its function reads it."));
}

TEST(UnrecordedReads, IncludeANoGradScopeAroundASubmodule) {
  const auto inner = [](const Tensor& x, const Tensor& w) { return tanh(matmul(x, w)); };
  const auto f = [inner](const Tensors& in) {
    Tensor features;
    {
      const NoGrad no_grad;
      features = inner(in[0], in[1]);
    }
    return matmul(features, in[2]) + sum(in[0]) + sum(in[1]);
  };
  const GradcheckReport report =
      expect_reads(f, {sample_normal({2, 3}, 1), sample_normal({3, 4}, 2), sample_normal({4, 2}, 3)},
                   ElementsAre("matmul input 0 [2, 4]"));
  EXPECT_THAT(report.unrecorded[0].variables, ElementsAre("input 0", "input 1"));
}

TEST(UnrecordedReads, AreAllReported) {
  const auto f = [](const Tensors& in) {
    const Tensor a = in[0] * in[1].detach(), b = exp(in[1]) - sum(in[0].detach());
    return cat({a, b / b.detach()}, 0);
  };
  expect_reads(f, {three(), sample_normal({3}, 8)},
               ElementsAre("mul input 1 [3]", "sub input 1 []", "div input 1 [3]"));
}

TEST(UnrecordedReads, AreReportedAlongWithAWrongGradient) {
  const auto f = [](const Tensors& in) {
    const Tensor wrong = square_with_wrong_gradient(in[0], [](const Tensor& g) { return g * 1.01; });
    return wrong / in[0].detach() + wrong;
  };
  const GradcheckReport report = gradcheck(f, {three()});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "square_with_wrong_gradient");
  EXPECT_EQ(report.guilty[0].gradient.wrong, 3);
  EXPECT_THAT(operations(report.unrecorded), ElementsAre("div input 1 [3]"));
}

TEST(UnrecordedReads, AreDistinguishedFromAWrongGradientOfTheSameOperation) {
  // The gradient of its first input is wrong, and the second input is detached.
  const auto f = [](const Tensors& in) {
    return custom(
        "wrong_product", {in[0], in[0].detach()}, [](const Tensors& x) { return x[0] * x[1]; },
        [](const BackwardContext& c) -> Tensors {
          return {c.grad() * c.saved(1) * -1, Tensor()};
        });
  };
  const GradcheckReport report = gradcheck(f, {three()});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "wrong_product");
  EXPECT_NEAR(report.guilty[0].gradient.analytic / report.guilty[0].gradient.numeric, -1, 1e-6);
  EXPECT_THAT(operations(report.unrecorded), ElementsAre("wrong_product input 1 [3]"));
}

TEST(UnrecordedReads, AreNotReportedIfTheyHaveNoEffect) {
  // The maximum cancels out: it is detached on purpose, before an operation whose gradient is wrong.
  const auto f = [](const Tensors& in) {
    const Tensor shifted = exp(in[0] - max(in[0], -1, Dims::keep).detach());
    return square_with_wrong_gradient(shifted / sum(shifted, -1, Dims::keep), [](const Tensor& g) { return g * 2; });
  };
  const GradcheckReport report = gradcheck(f, {sample_normal({2, 4}, 5)});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "square_with_wrong_gradient");
  EXPECT_TRUE(report.unrecorded.empty()) << report;
}

TEST(UnrecordedReads, IncludeALeafCreatedFromAnInput) {
  const auto f = [](const Tensors& in) {
    const Tensor leaf = in[0].detach().requires_grad_();
    return in[0] * exp(leaf);
  };
  expect_reads(f, {three()}, ElementsAre("exp input 0 [3]"));
}

TEST(UnrecordedReads, IncludeAGraphRetainedFromAnEarlierCall) {
  Tensor kept;
  const auto f = [&kept](const Tensors& in) {
    if (!kept.defined()) kept = exp(in[0]);
    return in[0] * kept;
  };
  const GradcheckReport report = gradcheck(f, {three()});
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.guilty.empty()) << report;
  EXPECT_THAT(report.blame, HasSubstr(", uses input 1 [3], which 'exp' computed in an earlier call: the gradient "
                                      "follows it to the variables, the differences do not. Compute it in each call."));
}

TEST(UnrecordedReads, IncludeAValueFromThePreviousCall) {
  Tensor before = three().detach().clone();
  const auto f = [&before](const Tensors& in) {
    const Tensor last = before;
    before = in[0].detach().clone();
    return in[0] * last;
  };
  const GradcheckReport report = gradcheck(f, {three()});
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.guilty.empty()) << report;
  ASSERT_EQ(report.unrecorded.size(), 1u) << report;
  EXPECT_EQ(report.unrecorded[0].origin, "it was saved in an earlier call");
}

TEST(UnrecordedReads, IncludeAResultThatWasNotRecorded) {
  const GradcheckReport report = gradcheck([](const Tensors& in) { return square(in[0].detach()); }, {three()});
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.blame,
            "No operation is guilty: the result was not recorded. It was computed in a NoGrad scope, from detach()ed "
            "tensors, or outside of the library's operations.");
}

TEST(UnrecordedReads, AreNotBlamedOnOperationsOfAChain) {
  // Each operation reads its own input a second time, detached.
  const std::vector<Function> functions{
      [](const Tensors& in) { return in[0] * in[0].detach(); },
      [](const Tensors& in) { return in[0] + in[0].detach(); },
      [](const Tensors& in) { return in[0] - exp(in[0].detach()); },
      [](const Tensors& in) { return atan2(in[0], in[0].detach() + 1); },
      [](const Tensors& in) { return pow(exp(in[0]), in[0].detach()); },
      [](const Tensors& in) { return maximum(in[0], in[0].detach() - 1) * in[0].detach(); },
      [](const Tensors& in) {
        return matmul(reshape(in[0], {3, 1}), reshape(in[0].detach(), {1, 3}));
      },
      [](const Tensors& in) {
        return cat({in[0] * 2, in[0].detach()}, 0);
      },
      [](const Tensors& in) { return softmax(in[0], -1) * softmax(in[0].detach(), -1); },
      [](const Tensors& in) { return tanh(in[0]) / norm(in[0].detach()); },
  };
  for (size_t i = 0; i < functions.size(); ++i) {
    const GradcheckReport report = gradcheck(functions[i], {three()});
    EXPECT_FALSE(report.ok()) << i;
    EXPECT_TRUE(report.guilty.empty()) << i << ": " << report;
    EXPECT_EQ(report.unrecorded.size(), 1u) << i << ": " << report;
  }
}

TEST(UnrecordedReads, AreNotBlamedOnAnOperationWithAScalarArgument) {
  // Each operation gets a scalar copied out of its own input. All are positive and away from kinks.
  const Tensor x = tensor({0.3, 0.7, 1.6, 2.2}, f64), y = tensor({1.4, 0.2, 0.9, 3.1}, f64);
  const Tensor mask = eq(tensor({0, 1, 0, 1}, f64), 1);
  using WithNumber = std::function<Tensor(const Tensors&, double)>;
  const std::vector<std::pair<const char*, WithNumber>> calls{
      {"add", [](const Tensors& in, double s) { return in[0] + s; }},
      {"subtract from", [](const Tensors& in, double s) { return s - in[0]; }},
      {"divide", [](const Tensors& in, double s) { return in[0] / s; }},
      {"divide a scalar", [](const Tensors& in, double s) { return s / in[0]; }},
      {"affine", [](const Tensors& in, double s) { return affine(in[0], s, s); }},
      {"pow", [](const Tensors& in, double s) { return pow(in[0], s); }},
      {"lerp", [](const Tensors& in, double s) { return lerp(in[0], in[1], s / 4); }},
      {"leaky_relu", [](const Tensors& in, double s) { return leaky_relu(in[0] - 1, s); }},
      {"elu", [](const Tensors& in, double s) { return elu(in[0] - 1, s); }},
      {"softplus", [](const Tensors& in, double s) { return softplus(in[0], {.beta = s}); }},
      {"clamp", [](const Tensors& in, double s) { return clamp(in[0], s + 0.5, 100); }},
      {"masked_fill", [&](const Tensors& in, double s) { return masked_fill(in[0], mask, s); }},
      {"pad",
       [](const Tensors& in, double s) {
         return pad(in[0], {{1, 2}}, s);
       }},
      {"norm", [](const Tensors& in, double s) { return norm(in[0], s + 1); }},
      {"layer_norm", [](const Tensors& in, double s) { return layer_norm(in[0], {}, {}, s); }},
      {"rms_norm", [](const Tensors& in, double s) { return rms_norm(in[0], {}, s); }},
      {"huber_loss", [](const Tensors& in, double s) { return huber_loss(in[0], in[1], {.delta = s / 4}); }},
      {"smooth_l1_loss", [](const Tensors& in, double s) { return smooth_l1_loss(in[0], in[1], {.beta = s}); }},
      {"remainder", [](const Tensors& in, double s) { return remainder(in[0] + 5, s); }},
      {"cosine_similarity", [](const Tensors& in, double s) { return cosine_similarity(in[0], in[1], 0, s + 50); }},
      {"scatter", [](const Tensors& in, double s) { return scatter(in[0], 0, tensor({1}, i64), s); }},
      {"matrix_norm",
       [](const Tensors& in, double s) {
         return linalg::matrix_norm(reshape(in[0], {2, 2}), 2) * s;
       }},
  };
  for (const auto& [name, call] : calls) {
    const WithNumber& with_scalar = call;
    const auto f = [&](const Tensors& in) { return with_scalar(in, in[0].data<double>()[2]); };
    const GradcheckReport report = gradcheck(f, {x, y}, {.allow_zero = {"input 1"}});
    EXPECT_FALSE(report.ok()) << name;
    EXPECT_TRUE(report.guilty.empty()) << name << ": " << report;
    EXPECT_FALSE(report.unrecorded.empty()) << name << ": " << report;
  }
}

TEST(UnrecordedReads, AreNotBlamedInSecondDerivatives) {
  const auto f = [](const Tensors& in) { return square(in[0]) * exp(in[0].detach()); };
  const GradcheckReport report = gradgradcheck(f, {three()});
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.guilty.empty()) << report;
  EXPECT_FALSE(report.unrecorded.empty()) << report;
}

}  // namespace
}  // namespace tape
