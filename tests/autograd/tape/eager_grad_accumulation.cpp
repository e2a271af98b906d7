#include "autograd/tape/eager_grad_accumulation.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/checkpoint.h"

namespace tape {
namespace {

using testing::ElementsAre;

/// Names of operations and hooks in the order in which a backward reaches them.
class Order : public Observer {
 public:
  void on_backward(const Node& node) override { names.emplace_back(node.name()); }
  Tensor watched(Tensor leaf, const std::string& name) {
    leaf.requires_grad_();
    leaf.register_hook([this, name](const Tensor&) -> Tensor {
      names.push_back(name);
      return {};
    });
    return leaf;
  }
  std::vector<std::string> names;
};

TEST(EagerGradAccumulation, FollowsTheEarliestOperationThatUsesTheLeaf) {
  Order order;
  const Tensor a = order.watched(randn({3}), "a"), b = order.watched(randn({3}), "b"),
               c = order.watched(randn({3}), "c");
  const auto loss = [&] {
    const Tensor first = exp(a * b), second = b * c;
    return sum(first - second);
  };
  loss().backward();
  EXPECT_THAT(order.names, ElementsAre("sum", "sub", "mul", "exp", "mul", "c", "b", "a"))
      << "without the scope, leaves come last";
  order.names.clear();
  const EagerGradAccumulation early;
  loss().backward();
  EXPECT_THAT(order.names, ElementsAre("sum", "sub", "mul", "c", "exp", "mul", "b", "a"));
}

TEST(EagerGradAccumulation, GivesTheSameBits) {
  const Tensor x = randn({8, 4}), w = randn({4, 4}).requires_grad_(), bias = randn({4}).requires_grad_();
  const auto gradients = [&] {
    for (Tensor leaf : {w, bias}) leaf.zero_grad();
    for (int batch = 0; batch < 2; ++batch) sum(tanh(matmul(tanh(matmul(x, w) + bias), w) + bias)).backward();
    return std::pair(w.grad().to_vector<float>(), bias.grad().to_vector<float>());
  };
  const auto late = gradients();
  const EagerGradAccumulation early;
  EXPECT_EQ(gradients(), late);
}

TEST(EagerGradAccumulation, GivesTheSameBitsForSecondDerivatives) {
  const Tensor x = randn({5}, f64).requires_grad_();
  const auto second = [&] {
    Tensor leaf = x;
    leaf.zero_grad();
    backward({sum(x * x * x)}, {}, {.create_graph = true});
    const Tensor first = leaf.grad();
    leaf.zero_grad();
    sum(first * first).backward();
    return leaf.grad().to_vector<double>();
  };
  const auto late = second();
  const EagerGradAccumulation early;
  EXPECT_EQ(second(), late);
}

TEST(EagerGradAccumulation, FollowsTheRecomputationOfACheckpointedSegment) {
  Order order;
  const Tensor a = order.watched(randn({3}), "a"), b = order.watched(randn({3}), "b"),
               c = order.watched(randn({3}), "c");
  const EagerGradAccumulation early;
  const Tensor first = sin(a);
  const Tensor inner = checkpoint(
      [&](const Tensors& in) {
        return checkpoint([&](const Tensors& deep) { return exp(deep[0] * b); }, {tanh(in[0])}) * c;
      },
      {first});
  sum(inner * b).backward();
  EXPECT_THAT(order.names, ElementsAre("sum", "mul", "mul", "exp", "mul", "tanh", "c", "b", "sin", "a"))
      << "the segments use b and c, and a is used before them";
}

TEST(EagerGradAccumulation, GivesTheSameBitsForCheckpointedSegments) {
  const Tensor x = randn({8, 4}), w = randn({4, 4}).requires_grad_(), bias = randn({4}).requires_grad_();
  const auto gradients = [&] {
    for (Tensor leaf : {w, bias}) leaf.zero_grad();
    Tensor h = x;
    for (int layer = 0; layer < 3; ++layer)
      h = checkpoint([&](const Tensors& in) { return tanh(matmul(in[0], w) + bias); }, {h});
    sum(h * h).backward();
    return std::pair(w.grad().to_vector<float>(), bias.grad().to_vector<float>());
  };
  const auto late = gradients();
  const EagerGradAccumulation early;
  EXPECT_EQ(gradients(), late);
}

TEST(EagerGradAccumulation, GivesTheSeedToALeafThatIsTheOutput) {
  Tensor a = scalar(2).requires_grad_();
  const EagerGradAccumulation early;
  a.backward();
  EXPECT_EQ(a.grad().item(), 1);
}

TEST(EagerGradAccumulation, EndsWithTheScope) {
  EXPECT_FALSE(EagerGradAccumulation::active());
  {
    const EagerGradAccumulation early;
    const EagerGradAccumulation nested;
    EXPECT_TRUE(EagerGradAccumulation::active());
  }
  EXPECT_FALSE(EagerGradAccumulation::active());
}

}  // namespace
}  // namespace tape
