#include "autograd/diagnose/tape_values.h"

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/checkpoint.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// A function whose values have several consumers, with broadcast inputs and one input that an operation uses twice.
Tensor branches(const Tensor& x, const Tensor& row) {
  const Tensor h = tanh(x + row), pieces = split(h * h, 2, 0)[1];
  return sum(softmax(h, -1) * h) + sum(matmul(pieces, h, {.transpose_b = true})) + sum(pieces);
}

TEST(TapeValues, DoNotChangeGradients) {
  const auto gradients = [] {
    Tensor x = sample_normal({4, 3}, 1).requires_grad_(), row = sample_normal({3}, 2).requires_grad_();
    const Tensor y = branches(x, row);
    y.backward();
    return std::tuple(y.item(), x.grad().to_vector<double>(), row.grad().to_vector<double>());
  };
  const auto without = gradients();
  const TapeValues kept;
  EXPECT_EQ(gradients(), without);
}

TEST(TapeValues, ContributionsAddUpToGradients) {
  Tensor x = sample_normal({4, 3}, 1).requires_grad_(), row = sample_normal({3}, 2).requires_grad_();
  TapeValues kept;
  const Tensor y = branches(x, row);
  y.backward({.retain_graph = true});
  const std::vector<const Node*> nodes = nodes_behind({y});
  std::map<std::pair<const Node*, uint32_t>, Tensor> sums;
  for (const Node* node : nodes) {
    const TapeValues::Step* step = kept.find(*node);
    ASSERT_EQ(step == nullptr, node->is_leaf());
    if (!step) continue;
    ASSERT_EQ(step->outputs.size(), node->outputs.size());
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      if (!node->inputs[i].node) continue;
      const Tensor contribution = step->contribution(i);
      ASSERT_TRUE(contribution.defined()) << node->name();
      EXPECT_EQ(contribution.shape(), step->inputs[i].shape());
      Tensor& total = sums[{node->inputs[i].node.get(), node->inputs[i].output}];
      total = total.defined() ? total + contribution : contribution;
    }
  }
  for (const Node* node : nodes) {
    const TapeValues::Step* step = kept.find(*node);
    for (uint32_t i = 0; i < node->outputs.size(); ++i) {
      const Tensor gradient = !step ? node->outputs[i].grad : step->gradients[i];
      if (node == y.impl().node.get()) {
        EXPECT_EQ(gradient.item(), 1);
      } else if (gradient.defined()) {
        EXPECT_TRUE(tensors_near(sums.at({node, i}), gradient, 1e-12)) << node->name() << ", output " << i;
      } else {
        EXPECT_FALSE(sums.contains({node, i})) << node->name() << ", output " << i;
      }
    }
  }
}

TEST(TapeValues, RecordTheOrderOfBothPasses) {
  const Tensor x = tensor({1., 2.}, f64).requires_grad_();
  exp(x);  // recorded before the scope
  TapeValues kept;
  const Tensor y = sum(exp(x) * 2);
  ASSERT_EQ(kept.steps().size(), 3u);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(kept.steps()[static_cast<size_t>(i)].recorded, i);
    EXPECT_EQ(kept.steps()[static_cast<size_t>(i)].replayed, -1);
  }
  y.backward({.retain_graph = true});
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(kept.steps()[static_cast<size_t>(i)].replayed, 2 - i);
  kept.forget_gradients();
  for (const TapeValues::Step& step : kept.steps()) {
    EXPECT_EQ(step.replayed, -1);
    EXPECT_TRUE(step.gradients.empty());
    EXPECT_FALSE(step.contribution(0).defined());
  }
  y.backward();
  EXPECT_EQ(kept.steps()[2].replayed, 0) << "the count starts again in each scope";
  EXPECT_TRUE(tensors_equal(kept.steps()[0].gradients[0], tensor({2., 2.}, f64)));
}

TEST(TapeValues, AreStoredWithoutHistory) {
  const int64_t before = memory_stats().live_bytes;
  {
    const TapeValues kept;
    const Tensor x = ones({1000}).requires_grad_();
    sum(exp(x) * x).backward();
    for (const TapeValues::Step& step : kept.steps())
      for (const Tensors& tensors : {step.inputs, step.outputs, step.gradients, step.contributions})
        for (const Tensor& tensor : tensors) EXPECT_FALSE(tensor.requires_grad());
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(TapeValues, ExcludeTheInsideOfACheckpoint) {
  Tensor x = ones({2}).requires_grad_();
  const TapeValues kept;
  const Tensor y = sum(checkpoint([](const Tensors& in) { return exp(in[0]); }, {x}));
  y.backward({.retain_graph = true});
  const Node& node = *y.impl().node->inputs[0].node;
  ASSERT_NE(kept.find(node), nullptr);
  EXPECT_TRUE(kept.find(node)->gradients.empty()) << "the checkpoint recomputes its function instead";
}

}  // namespace
}  // namespace tape
