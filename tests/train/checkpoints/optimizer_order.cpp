#include "train/checkpoints/optimizer_order.h"

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/ops/loss/regression_loss.h"
#include "autograd/random.h"
#include "nn/linear.h"
#include "optim/adamw.h"

namespace tape::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Pair : nn::Module {
  nn::Child<nn::Linear> first{this, "first", 3, 3}, second{this, "second", 3, 3};
};

TEST(OptimizerOrder, NamesParametersByTheirNumbers) {
  Pair model;
  const optim::AdamW adam(
      optim::ParameterGroups{{.parameters = model.second->parameters()}, {.parameters = {model.first->weight}}});
  EXPECT_THAT(optimizer_order(model, adam), ElementsAre("second.weight", "second.bias", "first.weight"));
  const optim::AdamW other(Tensors{zeros({2}).requires_grad_(true)});
  EXPECT_THAT(optimizer_order(model, other), IsEmpty());
}

TEST(OptimizerOrder, MovesTheStateOfEachParameter) {
  Pair model;
  optim::AdamW before(
      optim::ParameterGroups{{.parameters = {model.first->weight}}, {.parameters = {model.second->weight}}});
  mse_loss(model.second(model.first(randn({4, 3}))), zeros({4, 3})).backward();
  before.step();
  before.set_group(0, {.lr_factor = 0.5, .weight_decay = 0});
  const auto state = before.state_dict();
  const std::vector<std::string> then = optimizer_order(model, before);
  EXPECT_EQ(renumbered(state, then, then).size(), state.size());
  EXPECT_EQ(renumbered(state, {}, then).size(), state.size()) << "a checkpoint without names";

  optim::AdamW after(optim::ParameterGroups{{.parameters = {model.second->weight}},
                                            {.parameters = {model.first->bias, model.first->weight}}});
  const auto moved = renumbered(state, then, optimizer_order(model, after));
  after.load_state_dict(moved);
  for (const char* const name : {"m", "v", "step"}) {
    const auto values = [name](const auto& from, int number) {
      return from.at(fmt::format("{}.{}", number, name)).to(f64).template to_vector<double>();
    };
    EXPECT_EQ(values(moved, 0), values(state, 1)) << name;
    EXPECT_EQ(values(moved, 2), values(state, 0)) << name;
  }
  EXPECT_EQ(moved.at("1.step").item<int64_t>(), 0) << "new";
  EXPECT_FALSE(moved.contains("group.0.lr_factor"));
}

}  // namespace
}  // namespace tape::train
