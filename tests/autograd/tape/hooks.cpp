// Hooks of leaves that are frozen or given other data.

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/leaf_hooks.h"
#include "autograd/tape/tape.h"
#include "nn/linear.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using testing::ElementsAre;

Tensor leaf_of(const std::vector<double>& values) { return from_vector(values, {std::ssize(values)}).requires_grad_(); }

/// A leaf with one hook of each kind, and what the hooks saw.
struct Hooked {
  Tensor x = leaf_of({1, 2});
  std::vector<std::vector<double>> arrived, gathered;
  std::vector<int64_t> handles{
      x.register_hook([this](const Tensor& g) { return arrived.push_back(g.to(f64).to_vector<double>()), Tensor(); }),
      x.register_post_accumulate_grad_hook([this](Tensor& g) { gathered.push_back(g.to(f64).to_vector<double>()); })};
};

TEST(LeafHooks, SurviveTurningGradientsOffAndOn) {
  Hooked hooked;
  hooked.x.requires_grad_(false);
  EXPECT_FALSE((hooked.x * 3).requires_grad());
  hooked.x.requires_grad_(true);
  sum(hooked.x * 3).backward();
  EXPECT_THAT(hooked.arrived, ElementsAre(ElementsAre(3, 3)));
  EXPECT_THAT(hooked.gathered, ElementsAre(ElementsAre(3, 3)));
}

TEST(LeafHooks, SurviveFreezingAndUnfreezingAModule) {
  nn::Linear layer(2, 1);
  int calls = 0;
  for (const NamedTensor& named : layer.named_parameters())
    Tensor(named.tensor).register_post_accumulate_grad_hook([&calls](Tensor&) { ++calls; });
  layer.freeze();
  layer.unfreeze();
  sum(layer(ones({3, 2}))).backward();
  EXPECT_EQ(calls, 2);
}

TEST(LeafHooks, SurviveSetData) {
  Hooked hooked;
  hooked.x.set_data(tensor({5, 6}, f64));
  sum(hooked.x * 3).backward();
  hooked.x.set_data(ones({3}, f32));
  sum(hooked.x * 2).backward();
  EXPECT_THAT(hooked.arrived, ElementsAre(ElementsAre(3, 3), ElementsAre(2, 2, 2)));
  EXPECT_THAT(hooked.gathered, ElementsAre(ElementsAre(3, 3), ElementsAre(2, 2, 2)));
}

TEST(LeafHooks, SurviveSetDataOnAFrozenTensor) {
  Hooked hooked;
  hooked.x.requires_grad_(false);
  hooked.x.set_data(ones({3}, f64));
  hooked.x.requires_grad_(true);
  sum(hooked.x * 2).backward();
  EXPECT_THAT(hooked.gathered, ElementsAre(ElementsAre(2, 2, 2)));
}

TEST(LeafHooks, CanBeRemovedFromAFrozenTensor) {
  Hooked hooked;
  hooked.x.requires_grad_(false);
  for (const int64_t handle : hooked.handles) hooked.x.remove_hook(handle);
  hooked.x.requires_grad_(true);
  sum(hooked.x).backward();
  EXPECT_TRUE(hooked.arrived.empty());
  EXPECT_TRUE(hooked.gathered.empty());
  ones({2}).remove_hook(hooked.handles[0]);  // a tensor without hooks
}

TEST(LeafHooks, AreCalledByAGraphRecordedEarlier) {
  Hooked hooked;
  const Tensor y = sum(hooked.x * 3);
  hooked.x.requires_grad_(false);
  hooked.x.requires_grad_(true);
  hooked.x.set_data(tensor({7, 8}, f64));
  y.backward();
  EXPECT_THAT(hooked.gathered, ElementsAre(ElementsAre(3, 3)));
  EXPECT_TRUE(tensors_equal(hooked.x.grad(), tensor({3, 3}, f64)));
}

TEST(LeafHooks, AreNotCalledWhileTheTensorIsFrozen) {
  Hooked hooked;
  Tensor other = leaf_of({1, 1});
  const Tensor y = sum(hooked.x * 3 + other);
  hooked.x.requires_grad_(false);
  y.backward();
  EXPECT_TRUE(hooked.arrived.empty());
  EXPECT_TRUE(hooked.gathered.empty());
  EXPECT_TRUE(tensors_equal(other.grad(), ones({2}, f64)));
  hooked.x.requires_grad_(true);
  EXPECT_FALSE(hooked.x.grad().defined());
}

TEST(LeafHooks, EndWithTheirScope) {
  Tensor x = leaf_of({1, 2});
  int calls = 0;
  {
    LeafHooks hooks;
    hooks.add(x, [&calls](Tensor&) { ++calls; });
    sum(x).backward();
    x.requires_grad_(false);
  }
  x.requires_grad_(true);
  sum(x).backward();
  EXPECT_EQ(calls, 1);
}

TEST(SetData, KeepsTheGradientIfShapeAndDtypeMatch) {
  Tensor x = leaf_of({1, 2});
  sum(x).backward();
  x.set_data(tensor({3, 4}, f64));
  EXPECT_TRUE(tensors_equal(x.grad(), ones({2}, f64)));
  x.set_data(tensor({3, 4, 5}, f64));
  EXPECT_FALSE(x.grad().defined());
}

TEST(SetData, IsDetectedByABackwardThatSavedTheValues) {
  Tensor x = leaf_of({1, 2});
  const Tensor y = sum(square(x));
  x.set_data(tensor({3, 4}, f64));
  EXPECT_TAPE_ERROR(y.backward(), ErrorKind::graph,
                    "backward of 'square': a saved tensor [2] was given other values by set_data()");
}

TEST(SetData, RefusesIntegersIfGradientsAreRequired) {
  Tensor x = leaf_of({1, 2});
  EXPECT_TAPE_ERROR(x.set_data(ones({2}, i64)), ErrorKind::dtype,
                    "set_data: the tensor requires gradients, but i64 values cannot have any");
  x.requires_grad_(false);
  x.set_data(ones({2}, i64));
  EXPECT_EQ(x.dtype(), i64);
}

}  // namespace
}  // namespace tape
