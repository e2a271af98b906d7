#include "autograd/tape/formula.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/diagnose/tape_values.h"
#include "autograd/ops.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/op.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Formulas of the nodes that the samples of an operation record.
std::vector<std::pair<const Node*, Formula>> formulas_of(const Op& op, const TapeValues& kept, const Tensor& output) {
  std::vector<std::pair<const Node*, Formula>> all;
  for (const Node* node : nodes_behind({output}))
    if (node->op == &op) all.emplace_back(node, formula_of(*node, kept.find(*node)->inputs));
  return all;
}

Tensor leaf(const Shape& shape, uint64_t seed = 1) { return sample_normal(shape, seed).requires_grad_(); }

TEST(Formulas, ExistForEveryInputOfEveryRegisteredOperation) {
  for (const Op* op : registered_ops()) {
    EXPECT_FALSE(op->formula().forward.empty()) << op->name();
    EXPECT_FALSE(op->formula().backward.empty()) << op->name();
    for (const std::string_view text : op->formula().backward) EXPECT_FALSE(text.empty()) << op->name();
  }
}

TEST(Formulas, HaveAtMostEightTexts) {
  EXPECT_EQ((GradientTexts{"1", "2", "3", "4", "5", "6", "7", "8"}.size()), 8U);
  EXPECT_TAPE_ERROR((GradientTexts{"1", "2", "3", "4", "5", "6", "7", "8", "9"}), ErrorKind::config,
                    "backward of a formula: 9 texts, at most 8; the last one applies to all further inputs");
}

TEST(Formulas, SupportProductsWithVectors) {
  static const Op op(
      {.name = "my_product",
       .formula = {.forward = "y{y} = a{0} · b{1}", .backward = {"da{x}", "db{x}"}, .summed = Summed::batch}},
      Origin::run_time);
  const Tensor a = leaf({3}), b = leaf({2, 3}, 2);
  const TapeValues kept;
  const Tensor y =
      record(op, {a, b}, matmul(b.detach(), a.detach()), {}, [](const BackwardContext&) { return Tensors(2); });
  const auto formulas = formulas_of(op, kept, y);
  ASSERT_EQ(formulas.size(), 1u);
  EXPECT_THAT(formulas[0].second.backward, ElementsAre("da [3]", "db [2, 3]"));
}

TEST(Formulas, AreFilledForEverySample) {
  for (const Op* op : registered_ops()) {
    for (const OpSample& sample : op->samples()) {
      SCOPED_TRACE(fmt::format("{}, {}", op->name(), sample.label));
      const TapeValues kept;
      Tensors inputs;
      for (const Tensor& input : sample.inputs) inputs.push_back(input.detach().requires_grad_());
      const Tensor output = sample.call(inputs);  // keeps the nodes alive
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

TEST(Formulas, ContainTheShapesOfTheNode) {
  const Tensor x = leaf({2, 3, 4}), weight = leaf({5, 4}), bias = leaf({5});
  const Formula with_bias = formula_of(linear(x, weight, bias), {x, weight, bias});
  EXPECT_EQ(with_bias.forward, "y [2, 3, 5] = x [2, 3, 4] · weightᵀ [5, 4] + bias [5]");
  EXPECT_THAT(with_bias.backward,
              ElementsAre("dx [2, 3, 4] = dy [2, 3, 5] · weight [5, 4]",
                          "dweight [5, 4] = dyᵀ · x, summed over all rows", "dbias [5] = Σ rows of dy"));
  const Formula without = formula_of(linear(x, weight), {x, weight, {}});
  EXPECT_EQ(without.forward, "y [2, 3, 5] = x [2, 3, 4] · weightᵀ [5, 4]");
  EXPECT_EQ(without.backward[2], "");
  EXPECT_EQ(formula_of(softmax(x, -1), {x}).backward[0], "dx = y ⊙ (dy − Σⱼ dyⱼ yⱼ), along axis 2 of [2, 3, 4]");
  const Tensor y = leaf({2, 3, 1});
  EXPECT_THAT(formula_of(cat({x, x, y}, -1), {x, x, y}).backward,
              ElementsAre("dx0 [2, 3, 4] = the part of dy [2, 3, 9] that input 0 became",
                          "dx1 [2, 3, 4] = the part of dy [2, 3, 9] that input 1 became",
                          "dx2 [2, 3, 1] = the part of dy [2, 3, 9] that input 2 became"));
}

TEST(Formulas, ContainTheAttributesOfTheCall) {
  const Tensor x = leaf({2, 3});
  const auto forward = [&x](const Tensor& y) { return formula_of(y, {x}).forward; };
  EXPECT_EQ(forward(affine(x, -2.5, 3)), "y [2, 3] = -2.5 · x + 3");
  EXPECT_EQ(forward(affine(x, 0.125, 0)), "y [2, 3] = 0.125 · x");
  EXPECT_EQ(formula_of(affine(x, 0.125, 0), {x}).backward[0], "dx = 0.125 · dy");
  EXPECT_EQ(forward(sum(x, -1)), "y [2] = x [2, 3] summed over axes [1]");
  EXPECT_EQ(forward(sum(x)), "y [] = x [2, 3] summed over axes [0, 1]");
  EXPECT_EQ(forward(clamp(x, -1, 0.5)), "y [2, 3] = min(max(x, -1), 0.5)");
  EXPECT_EQ(forward(seeded_dropout(x, 0.25, 7, 3)),
            "y [2, 3] = x ⊙ m / (1−p), m = 0 with probability p = 0.25, else 1");
  EXPECT_EQ(forward(slice(x, 1, {.start = 1})), "y [2, 2] = x [2, 3] from 1 to 3 along axis 1");
  EXPECT_EQ(forward(slice(x, 1, {.step = 2})), "y [2, 2] = x [2, 3] from 0 to 3 in steps of 2 along axis 1");
  EXPECT_EQ(forward(topk(x, 2, -1, {.largest = false}).values), "y [2, 2] = the 2 smallest of x [2, 3] along axis 1");
  EXPECT_EQ(forward(sort(x, 0, {.descending = true}).values), "y [2, 3] = x in descending order along axis 0");
  EXPECT_EQ(forward(cumsum(x, 1, {.reverse = true})), "y [2, 3]ⱼ = Σᵢ≥ⱼ xᵢ along axis 1");
  EXPECT_EQ(forward(layer_norm(x, {}, {}, 1e-6)),
            "y [2, 3] = n, n = (x − mean) · r, r = 1/√(var + 1e-06), over the last axis");
  const Tensor ids = tensor({0, 1}, i64);
  EXPECT_EQ(formula_of(embedding(x, ids, {.padding_index = 0}), {x}).backward[0],
            "dweight [2, 3] = for each row, the sum of the rows of dy [2, 3] with its id; 0 for the padding row 0");
  EXPECT_EQ(formula_of(embedding(x, ids), {x}).backward[0],
            "dweight [2, 3] = for each row, the sum of the rows of dy [2, 3] with its id");
}

TEST(Formulas, ShowWhereGradientsAreSummed) {
  const Tensor x = leaf({2, 3}), row = leaf({3});
  EXPECT_THAT(formula_of(x + row, {x, row}).backward,
              ElementsAre("da = dy", "db = dy, summed over the repeated axes to [3]"));
  const Tensor a = leaf({2, 3, 4}), b = leaf({4, 5});
  EXPECT_THAT(formula_of(matmul(a, b), {a, b}).backward,
              ElementsAre("da [2, 3, 4] = dy · bᵀ", "db [4, 5] = aᵀ · dy, summed over the batch to [4, 5]"));
}

TEST(Formulas, ShowWhichOperandsAreTransposed) {
  const auto formula = [](const Shape& a, const Shape& b, const MatmulOptions& options) {
    const Tensor left = leaf(a, 1), right = leaf(b, 2);
    return formula_of(matmul(left, right, options), {left, right});
  };
  EXPECT_EQ(formula({2, 3}, {3, 4}, {}).forward, "y [2, 4] = a [2, 3] · b [3, 4]");
  EXPECT_EQ(formula({2, 3}, {4, 3}, {.transpose_b = true}).forward, "y [2, 4] = a [2, 3] · b [4, 3]ᵀ");
  // Shapes that do not reveal a transposition.
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

TEST(Formulas, NameTheInputsOfAnUnknownOperation) {
  const Tensor x = leaf({2}), w = leaf({3});
  const Tensor y = custom(
      "swish", {x, w}, [](const Tensors& in) { return in[0] * 2; },
      [](const BackwardContext& c) -> Tensors {
        return {2 * c.grad(), {}};
      });
  const Formula formula = formula_of(y, {x, w});
  EXPECT_EQ(formula.forward, "y [2] = swish(x0 [2], x1 [3])");
  EXPECT_THAT(formula.backward, ElementsAre("dx0 [2] = result of the operation's gradient function",
                                            "dx1 [3] = result of the operation's gradient function"));
  EXPECT_TAPE_ERROR(formula_of(x, {}), ErrorKind::graph,
                    "formula_of: the tensor is not the result of a recorded operation");
}

}  // namespace
}  // namespace tape
