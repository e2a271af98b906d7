#include "autograd/ops/formulas.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/diagnose/tape_values.h"
#include "autograd/ops.h"
#include "autograd/ops/op.h"
#include "autograd/tape/graph.h"
#include "tests/support.h"

namespace tape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Formula of(std::string_view operation, const Tensors& inputs, const Tensors& outputs) {
  return formula_of(operation, inputs, outputs);
}

/// Formulas of the nodes of an operation that its samples record.
std::vector<std::pair<const Node*, Formula>> formulas_of(const Op& op, const TapeValues& kept, const Tensor& output) {
  std::vector<std::pair<const Node*, Formula>> all;
  for (const Node* node : nodes_behind({output}))
    if (node->op == &op)
      all.emplace_back(node, formula_of(op.name(), kept.find(*node)->inputs, kept.find(*node)->outputs));
  return all;
}

TEST(Formulas, EveryRegisteredOperationHasOne) {
  for (const Op* op : registered_ops()) EXPECT_TRUE(has_formula(op->name())) << op->name();
  EXPECT_FALSE(has_formula("no such operation"));
}

TEST(Formulas, AreFilledForEverySample) {
  for (const Op* op : registered_ops()) {
    for (const OpSample& sample : op->samples()) {
      SCOPED_TRACE(fmt::format("{}, {}", op->name(), sample.label));
      const TapeValues kept;
      Tensors inputs;
      for (const Tensor& input : sample.inputs) inputs.push_back(input.detach().requires_grad_());
      const Tensor output = sample.call(inputs);  // the nodes live as long as it
      const auto formulas = formulas_of(*op, kept, output);
      EXPECT_FALSE(formulas.empty());
      for (const auto& [node, formula] : formulas) {
        EXPECT_TRUE(formula.forward.starts_with("y")) << formula.forward;
        EXPECT_THAT(formula.forward, HasSubstr(to_string(node->outputs[0].shape)));
        ASSERT_EQ(formula.backward.size(), node->inputs.size());
        for (size_t i = 0; i < formula.backward.size(); ++i) {
          if (!node->inputs[i].node) continue;
          EXPECT_TRUE(formula.backward[i].starts_with("d")) << formula.backward[i];
          EXPECT_THAT(formula.backward[i], HasSubstr(" = ")) << "of input " << i;
        }
        for (const std::string& text : formula.backward)
          EXPECT_EQ(text.find_first_of("{}:"), std::string::npos) << text;
        EXPECT_EQ(formula.forward.find_first_of("{}<>"), std::string::npos) << formula.forward;
      }
    }
  }
}

TEST(Formulas, HoldTheShapesOfTheNode) {
  const Tensor x = ones({2, 3, 4}), weight = ones({5, 4}), bias = ones({5}), y = ones({2, 3, 5});
  const Formula linear = of("linear", {x, weight, bias}, {y});
  EXPECT_EQ(linear.forward, "y [2, 3, 5] = x [2, 3, 4] · weightᵀ [5, 4] + bias [5]");
  EXPECT_THAT(linear.backward,
              ElementsAre("dx [2, 3, 4] = dy [2, 3, 5] · weight [5, 4]",
                          "dweight [5, 4] = dyᵀ · x, summed over all rows", "dbias [5] = Σ rows of dy"));
  const Formula without = of("linear", {x, weight, {}}, {y});
  EXPECT_EQ(without.forward, "y [2, 3, 5] = x [2, 3, 4] · weightᵀ [5, 4]");
  EXPECT_EQ(without.backward[2], "");
  EXPECT_EQ(of("softmax", {x}, {x}).backward[0], "dx = y ⊙ (dy − Σⱼ dyⱼ yⱼ), along the last axis of [2, 3, 4]");
  EXPECT_THAT(of("cat", {x, x, y}, {y}).backward,
              ElementsAre("dx0 [2, 3, 4] = the part of dy [2, 3, 5] that input 0 became",
                          "dx1 [2, 3, 4] = the part of dy [2, 3, 5] that input 1 became",
                          "dx2 [2, 3, 5] = the part of dy [2, 3, 5] that input 2 became"));
}

TEST(Formulas, SayWhereGradientsAreSummed) {
  const Tensor x = ones({2, 3}), row = ones({3});
  EXPECT_THAT(of("add", {x, row}, {x}).backward,
              ElementsAre("da = dy", "db = dy, summed over the repeated axes to [3]"));
  EXPECT_THAT(of("matmul", {ones({2, 3, 4}), ones({4, 5})}, {ones({2, 3, 5})}).backward,
              ElementsAre("da [2, 3, 4] = dy · bᵀ", "db [4, 5] = aᵀ · dy, summed over the batch to [4, 5]"));
}

TEST(Formulas, TellWhichOperandsWereTransposed) {
  const auto formula = [](const Shape& a, const Shape& b, const MatmulOptions& options) {
    const Tensor left = sample_normal(a, 1), right = sample_normal(b, 2);
    return of("matmul", {left, right}, {matmul(left, right, options)});
  };
  // By their shapes.
  EXPECT_EQ(formula({2, 3}, {3, 4}, {}).forward, "y [2, 4] = a [2, 3] · b [3, 4]");
  EXPECT_EQ(formula({2, 3}, {4, 3}, {.transpose_b = true}).forward, "y [2, 4] = a [2, 3] · b [4, 3]ᵀ");
  // By their values.
  const Shape square{3, 3}, batch{2, 3, 3};
  EXPECT_THAT(formula(square, square, {}).backward, ElementsAre("da [3, 3] = dy · bᵀ", "db [3, 3] = aᵀ · dy"));
  const Formula right = formula(batch, square, {.transpose_b = true});
  EXPECT_EQ(right.forward, "y [2, 3, 3] = a [2, 3, 3] · b [3, 3]ᵀ");
  EXPECT_THAT(right.backward,
              ElementsAre("da [2, 3, 3] = dy · b", "db [3, 3] = dyᵀ · a, summed over the batch to [3, 3]"));
  EXPECT_THAT(formula(square, square, {.transpose_a = true}).backward,
              ElementsAre("da [3, 3] = b · dyᵀ", "db [3, 3] = a · dy"));
  EXPECT_THAT(formula(square, square, {.transpose_a = true, .transpose_b = true}).backward,
              ElementsAre("da [3, 3] = bᵀ · dyᵀ", "db [3, 3] = dyᵀ · aᵀ"));
}

TEST(Formulas, OfAnUnknownOperationNameItsInputs) {
  const Formula formula = of("swish", {ones({2}), ones({3})}, {ones({2})});
  EXPECT_EQ(formula.forward, "y [2] = swish(x0 [2], x1 [3])");
  EXPECT_THAT(formula.backward, ElementsAre("dx0 [2] = what the operation's own gradient function gives",
                                            "dx1 [3] = what the operation's own gradient function gives"));
}

}  // namespace
}  // namespace tape
