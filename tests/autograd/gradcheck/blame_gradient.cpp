// Which operation a failing gradgradcheck names.

#include "autograd/gradcheck/blame_gradient.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/gradcheck/blame.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/tape/op.h"
#include "tests/autograd/gradcheck/every_operation.h"
#include "tests/autograd/gradcheck/wrong_gradient.h"

namespace tape {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// x^3 with a correct gradient that treats x as a constant when differentiated again.
Tensor cube_with_constant(const Tensor& x) {
  return custom(
      "cube_with_constant", {x}, [](const Tensors& in) { return in[0] * in[0] * in[0]; },
      [](const BackwardContext& c) -> Tensors { return {c.grad() * 3 * square(c.saved(0).detach())}; });
}

/// x^2 with a gradient that does not depend on the upstream gradient.
Tensor square_with_constant_head(const Tensor& x) {
  return custom(
      "square_with_constant_head", {x}, [](const Tensors& in) { return in[0] * in[0]; },
      [](const BackwardContext& c) -> Tensors { return {c.grad().detach() * 2 * c.saved(0)}; });
}

TEST(GradientBlame, NamesTheOperationThatTreatsItsInputAsConstant) {
  const auto f = [](const Tensors& in) { return softmax(cube_with_constant(tanh(matmul(in[0], in[1]))) + in[0], -1); };
  const Tensors inputs{sample_normal({3, 4}, 1), sample_normal({4, 4}, 2)};
  EXPECT_TRUE(gradients_match(gradcheck(f, inputs)));
  const GradcheckReport report = gradgradcheck(f, inputs);
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  const GuiltyOperation& guilty = report.guilty[0];
  EXPECT_EQ(guilty.operation, "cube_with_constant");
  EXPECT_EQ(guilty.derivative, Derivative::second);
  EXPECT_EQ(guilty.place, 2);
  EXPECT_EQ(guilty.gradient.name, "input 0");
  EXPECT_EQ(guilty.gradient.wrong, 12);
  EXPECT_EQ(guilty.gradient.analytic, 0);
  EXPECT_EQ(report.blame, "");
  EXPECT_THAT(to_string(guilty), testing::AllOf(StartsWith("guilty: cube_with_constant"),
                                                HasSubstr("derivative of its gradient by input 0 [3, 4]: ")));
}

TEST(GradientBlame, NamesTheOperationThatTreatsTheUpstreamGradientAsConstant) {
  const GradcheckReport report =
      gradgradcheck([](const Tensors& in) { return exp(square_with_constant_head(in[0])); }, {sample_normal({3})});
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "square_with_constant_head");
  EXPECT_EQ(report.guilty[0].gradient.analytic, 0);
  EXPECT_THAT(to_string(report.guilty[0]), HasSubstr("by the incoming gradient"));
}

TEST(GradientBlame, NamesAWrongFirstGradientFirst) {
  const auto tripled = [](const Tensor& g) { return g * 3; };
  const auto f = [&](const Tensors& in) { return exp(square_with_wrong_gradient(in[0], tripled)); };
  // The second derivative is consistent with the wrong gradient, so the error is not in differentiating the gradients.
  const GradcheckReport report = gradcheck(f, {sample_normal({3})});
  ASSERT_EQ(report.guilty.size(), 1u);
  EXPECT_EQ(report.guilty[0].derivative, Derivative::first);
}

/// x^4, whose gradient calls an operation with a wrong gradient, which shows only in second derivatives.
Tensor fourth_power(const Tensor& x) {
  return custom(
      "fourth_power", {x}, [](const Tensors& in) { return square(square(in[0])); },
      [](const BackwardContext& c) -> Tensors {
        const auto doubled = [](const Tensor& g) { return g * 2; };
        return {c.grad() * 4 * c.saved(0) * square_with_wrong_gradient(c.saved(0), doubled)};
      });
}

TEST(GradientBlame, LooksInsideGradientFunctions) {
  const GradcheckReport report =
      gradgradcheck([](const Tensors& in) { return fourth_power(in[0]); }, {sample_normal({3})});
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  EXPECT_EQ(report.guilty[0].operation, "square_with_wrong_gradient");
  EXPECT_EQ(report.guilty[0].derivative, Derivative::first);
}

TEST(GradientBlame, IsSkippedUnlessRequested) {
  const auto f = [](const Tensors& in) { return cube_with_constant(in[0]); };
  const GradcheckReport report = gradgradcheck(f, {sample_normal({3})}, {.blame = false});
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.guilty.empty());
  EXPECT_EQ(report.blame, "");
}

TEST(GradientBlame, ClearsEveryRegisteredOperation) { expect_no_wrong_operation(detail::find_guilty_gradient); }

}  // namespace
}  // namespace tape
