// Which operation a failing gradcheck names. tests/models/blame.cpp does the same inside a Transformer.

#include "autograd/gradcheck/blame.h"

#include <gmock/gmock.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/gradcheck/run.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/autograd/gradcheck/every_operation.h"
#include "tests/autograd/gradcheck/wrong_gradient.h"

namespace tape {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Tensor tripled(const Tensor& g) { return g * 3; }

GradcheckReport report_of(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs) {
  const GradcheckReport report = gradcheck(f, inputs);
  EXPECT_FALSE(report.ok());
  return report;
}

TEST(Blame, NamesTheOneWrongOperation) {
  const auto f = [](const Tensors& in) {
    const Tensor hidden = tanh(matmul(in[0], in[1]));
    const Tensor weights = softmax(square_with_wrong_gradient(hidden, tripled) + in[0], -1);
    return weights * sigmoid(hidden);
  };
  const GradcheckReport report = report_of(f, {sample_normal({3, 4}, 1), sample_normal({4, 4}, 2)});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  const GuiltyOperation& guilty = report.guilty[0];
  EXPECT_EQ(guilty.operation, "square_with_wrong_gradient");
  EXPECT_EQ(guilty.module_path, "");
  EXPECT_EQ(guilty.place, 2);  // after matmul and tanh
  EXPECT_FALSE(guilty.composed);
  EXPECT_EQ(guilty.gradient.name, "input 0");
  EXPECT_EQ(guilty.gradient.shape, Shape({3, 4}));
  EXPECT_EQ(guilty.gradient.wrong, 12);
  EXPECT_NEAR(guilty.gradient.analytic / guilty.gradient.numeric, 3, 1e-6);
  EXPECT_EQ(guilty.gradient.explanation,
            "Every element is 3 times the numeric value: a constant factor is wrong (3 is the size of axis 0 of the "
            "output [3, 4]: a sum instead of a mean?)");
  EXPECT_EQ(report.blame, "");
}

TEST(Blame, ReportsNothingForACorrectFunction) {
  const GradcheckReport report = gradcheck([](const Tensors& in) { return tanh(in[0]); }, {sample_normal({3})});
  EXPECT_TRUE(report.guilty.empty());
  EXPECT_EQ(report.blame, "");
}

TEST(Blame, NamesEachWrongOperationAndTheInput) {
  const auto f = [](const Tensors& in) {
    const Tensor first = square_with_wrong_gradient(in[0], tripled);
    return custom(
        "wrong_product", {first, in[1]}, [](const Tensors& x) { return x[0] * x[1]; },
        [](const BackwardContext& c) -> Tensors {
          return {c.grad() * c.saved(1), -(c.grad() * c.saved(0))};
        });
  };
  const GradcheckReport report = report_of(f, {sample_normal({5}, 1), sample_normal({5}, 2)});
  ASSERT_EQ(report.guilty.size(), 2u) << report;
  EXPECT_EQ(report.guilty[0].operation, "square_with_wrong_gradient");
  EXPECT_EQ(report.guilty[1].operation, "wrong_product");
  EXPECT_EQ(report.guilty[1].gradient.name, "input 1");
  EXPECT_EQ(report.guilty[1].gradient.explanation,
            "Every element has the opposite sign: a minus is missing, or one too many.");
}

TEST(Blame, ReportsTheWorstOfManySuspects) {
  const std::vector<double> factors{1.6, 1.05, 2.5, 1.7, 1.1, 1.8, 1.9, 1.01, 2.1, 2.2, 1.15, 2.3};
  const auto f = [&](const Tensors& in) {
    Tensor total = in[0];
    for (const double factor : factors)
      total = total + square_with_wrong_gradient(in[0], [factor](const Tensor& g) { return g * factor; });
    return total;
  };
  std::vector<double> kept;
  for (const GuiltyOperation& guilty : report_of(f, {sample_normal({3})}).guilty)
    kept.push_back(std::round(guilty.gradient.analytic / guilty.gradient.numeric * 1000) / 1000);
  EXPECT_THAT(kept, testing::ElementsAre(1.6, 2.5, 1.7, 1.8, 1.9, 2.1, 2.2, 2.3));
}

TEST(Blame, DistinguishesAnOperationFromOtherConsumersOfItsInput) {
  // x has three consumers, and the wrong operation reads it as two of its inputs.
  const auto f = [](const Tensors& in) {
    const Tensor x = exp(in[0]);
    const Tensor y = custom(
        "wrong_sum", {x, x}, [](const Tensors& v) { return v[0] + v[1] * v[1]; },
        [](const BackwardContext& c) -> Tensors {
          return {c.grad(), c.grad() * c.saved(1)};
        });
    return x * y + sum(x);
  };
  const GradcheckReport report = report_of(f, {sample_normal({4})});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "wrong_sum");
  EXPECT_EQ(report.guilty[0].gradient.name, "inputs 0 and 1");
}

TEST(Blame, LooksThroughViews) {
  const auto f = [](const Tensors& in) {
    const Tensor rows = reshape(in[0], {2, 3});
    return cat({square_with_wrong_gradient(rows[0], tripled), rows[1], reshape(rows, {6})}, 0) * 2;
  };
  const GradcheckReport report = report_of(f, {sample_normal({6})});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "square_with_wrong_gradient");
}

TEST(Blame, ReportsWhenNoOperationIsAtFault) {
  const auto f = [](const Tensors& in) { return in[0] * sum(in[0]).detach(); };
  const GradcheckReport report = report_of(f, {sample_normal({5})});
  EXPECT_TRUE(report.guilty.empty()) << report;
  EXPECT_THAT(to_string(report), HasSubstr("\nNo operation is guilty: each of the 1 on the tape has the right "
                                           "gradient (to 1e-05). So a value bypassed the tape: by detach(), a NoGrad "
                                           "scope, data(), or as a constant computed from an input."));
}

TEST(Blame, FindsTheOneWrongElementAmongMany) {
  // Only 128 of the 3000 elements are compared, so finding this one must not rely on chance.
  const auto f = [](const Tensors& in) {
    return custom(
        "one_off", {in[0]}, [](const Tensors& v) { return square(v[0]); },
        [](const BackwardContext& c) -> Tensors {
          Tensor g = (c.grad() * c.saved(0) * 2).detach().clone();
          g.mutable_data<double>()[1234] *= 1.5;
          return {g};
        });
  };
  const GradcheckReport report = report_of(f, {sample_normal({60, 50})});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].gradient.worst, (std::vector<int64_t>{24, 34}));
  EXPECT_EQ(report.guilty[0].gradient.wrong, 1);
  EXPECT_EQ(report.guilty[0].gradient.checked, 129);
}

/// Embedding lookup followed by dropout, in a table whose padding row 0 is frozen.
Tensor look_up(const Tensor& table, const Tensor& ids) {
  return dropout(embedding(table, ids, {.padding_index = 0}), 0.3);
}

TEST(Blame, DoesNotBlameAFrozenPaddingRow) {
  const Tensor ids = tensor({{1, 0, 2}, {2, 0, 3}}, i64), table = sample_normal({4, 6});
  const auto f = [&](const Tensors& in) {
    const ModuleScope scope("words");
    return look_up(in[0], ids);
  };
  const GradcheckReport report = report_of(f, {table});
  EXPECT_TRUE(report.guilty.empty()) << report;
  EXPECT_THAT(report.blame, testing::EndsWith(" Or it comes from padding, which gets no gradient by design: row 0 of "
                                              "'embedding' (words)."));
  // Nor is the padding row named where its embeddings do not affect the result.
  const Tensor counts = tensor({{{1.0}, {0.0}, {1.0}}, {{1.0}, {0.0}, {1.0}}}, f64);
  const auto masked = [&](const Tensors& in) { return f(in) * counts * sum(in[0]).detach(); };
  EXPECT_THAT(report_of(masked, {table}).blame, testing::EndsWith(" computed from an input."));
  // Nor when another operation is at fault.
  const auto wrong = [&](const Tensors& in) { return square_with_wrong_gradient(f(in), tripled); };
  const GradcheckReport both = report_of(wrong, {table});
  ASSERT_EQ(both.guilty.size(), 1u) << both;
  EXPECT_EQ(both.guilty[0].operation, "square_with_wrong_gradient");
}

TEST(Blame, ReportsOperationsThatWereNotChecked) {
  const auto f = [](const Tensors& in) {
    const Tensor x = cast(square(cast(in[0], f32)), f64);
    return in[0] * x.detach();
  };
  const GradcheckReport report = report_of(f, {tensor({0.5, 2.0}, f64)});
  EXPECT_THAT(report.blame, StartsWith("No operation is guilty: each of the 1 on the tape "));
  const auto single = [](const Tensors& in) { return cast(square(cast(in[0], f32)), f64) + in[0].detach(); };
  EXPECT_THAT(report_of(single, {tensor({0.5, 2.0}, f64)}).blame, HasSubstr(" Not checked, because not in f64: 3."));
}

TEST(Blame, IgnoresOperationsThatTheResultDoesNotDependOn) {
  const auto f = [](const Tensors& in) {
    square_with_wrong_gradient(in[0], tripled);
    return square_with_wrong_gradient(tanh(in[0]), [](const Tensor& g) { return -g; });
  };
  const GradcheckReport report = report_of(f, {sample_normal({5})});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].place, 2);
}

TEST(Blame, FindsAFusedOperationsOwnGradient) {
  const auto twice = [](const Tensors& in) {
    const Tensor x = tanh(in[0]);
    if (Composed::active()) return x + x;
    return custom(
        "fused_twice", {x}, [](const Tensors& v) { return v[0] + v[0]; },
        [](const BackwardContext& c) -> Tensors { return {c.grad()}; });
  };
  const GradcheckReport report = report_of(twice, {sample_normal({4})});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "fused_twice");
  EXPECT_EQ(report.blame,
            "In a Composed scope, where fused operations are recorded step by step, every gradient is right, so the "
            "fused operation's own gradient is wrong.");
}

TEST(Blame, NamesTheStepInsideAFusedOperation) {
  // The fused operation takes its gradient from a composed implementation with a wrong step.
  const auto unfused = [](const Tensor& x) { return exp(square_with_wrong_gradient(x, tripled)); };
  const auto f = [unfused](const Tensors& in) {
    if (Composed::active()) return unfused(in[0]);
    return custom(
        "fused_bell", {in[0]}, [](const Tensors& v) { return exp(v[0] * v[0]); },
        [unfused](const BackwardContext& c) -> Tensors {
          const EnableGrad recording;
          const Tensor x = c.saved(0).detach().requires_grad_();
          return grad({unfused(x)}, {x}, {.gradients = {c.grad()}});
        });
  };
  const GradcheckReport report = report_of(f, {sample_normal({4})});
  ASSERT_EQ(report.guilty.size(), 2u) << report;
  EXPECT_EQ(report.guilty[0].operation, "fused_bell");
  EXPECT_EQ(report.guilty[1].operation, "square_with_wrong_gradient");
  EXPECT_TRUE(report.guilty[1].composed);
  EXPECT_THAT(to_string(report.guilty[1]), HasSubstr(", a step of the Composed scope: gradient of input 0 [4]: "));
}

TEST(Blame, PrintsOneLinePerOperation) {
  const auto f = [](const Tensors& in) {
    const ModuleScope outer("feed_forward"), inner("activation");
    return square_with_wrong_gradient(in[0], tripled);
  };
  const GradcheckReport report = report_of(f, {tensor({{1.0, 2.0}, {3.0, 4.0}}, f64)});
  ASSERT_EQ(report.guilty.size(), 1u);
  GuiltyOperation guilty = report.guilty[0];
  EXPECT_EQ(guilty.module_path, "feed_forward.activation");
  guilty.source = "/home/somebody/layer.cpp:42";
  guilty.gradient.worst = {1, 1};
  guilty.gradient.analytic = 1.53, guilty.gradient.numeric = 0.51;
  EXPECT_EQ(to_string(guilty),
            "guilty: square_with_wrong_gradient (feed_forward.activation), called at layer.cpp:42: gradient of input 0 "
            "[2, 2]: [1, 1] "
            "is 1.53, should be 0.51 (200% off), all 4 elements wrong. Every element is 3 times the numeric value: a "
            "constant factor is wrong.");
  EXPECT_THAT(to_string(report), HasSubstr("\n\nguilty: square_with_wrong_gradient (feed_forward.activation)"));
  guilty.attributes = "eps=1e-05";
  EXPECT_THAT(to_string(guilty),
              StartsWith("guilty: square_with_wrong_gradient(eps=1e-05) (feed_forward.activation), called"));
}

TEST(Blame, CanBeTurnedOff) {
  const auto f = [](const Tensors& in) { return square_with_wrong_gradient(in[0], tripled); };
  const GradcheckReport report = gradcheck(f, {sample_normal({5})}, {.blame = false});
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.guilty.empty());
  EXPECT_EQ(report.blame, "");
}

TEST(Blame, LeavesValuesAndGradientsAsTheyWere) {
  Tensor weight = sample_normal({3, 3}).requires_grad_();
  const std::vector<double> before = weight.to_vector<double>();
  const void* const place = weight.raw();
  const auto f = [&] { return square_with_wrong_gradient(matmul(weight, weight), tripled); };
  const GradcheckReport report = gradcheck_variables(f, {{"weight", weight}});
  ASSERT_EQ(report.guilty.size(), 1u);
  EXPECT_EQ(weight.to_vector<double>(), before);
  EXPECT_EQ(weight.raw(), place);
  EXPECT_FALSE(weight.grad().defined());
}

TEST(Blame, EndsEarlyIfTheRecordedOperationsChange) {
  int runs = 0;
  const auto f = [&](const Tensors& in) {
    const Tensor y = square_with_wrong_gradient(in[0], tripled);
    // Computes equal values through different operations in each call.
    return ++runs % 2 ? y + y : y * 2;
  };
  const GradcheckReport report = report_of(f, {sample_normal({2})});
  EXPECT_THAT(report.blame, StartsWith("The search for the guilty operation ended early: the function records "));
}

TEST(Blame, ClearsEveryRegisteredOperation) {
  expect_no_wrong_operation(
      [](const std::function<Tensors()>& f, uint64_t seed) { return detail::find_guilty(f, seed); });
}

}  // namespace
}  // namespace tape
