// A Trainer whose model does not register what its loss depends on.

#include <gmock/gmock.h>

#include "autograd/ops.h"
#include "nn/linear.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/train/one_thread.h"
#include "tests/train/tiny_task.h"

namespace tape::train {
namespace {

using testing::StartsWith;

struct Forgetful : nn::Module {
  nn::Child<nn::Linear> a{this, "a", 4, 4};
  nn::Linear b{4, 4};
  Tensor forward(const Tensor& x) { return nn::call(b, a(x)); }
};

/// A parameter that is created in the first forward.
struct Lazy : nn::Module {
  nn::Child<nn::Linear> a{this, "a", 4, 4};
  Tensor scale;
  Tensor forward(const Tensor& x) {
    if (!scale.defined()) scale = ones({4}).requires_grad_();
    return a(x) * scale;
  }
};

template <class M>
TrainResult train(M& model, TrainerOptions options, const std::function<Tensor()>& loss) {
  optim::Sgd sgd(model.parameters(), {.lr = 1e-2});
  Loader<Rows> loader({.plan = TinyTask::plan, .collate = TinyTask::collate});
  options.steps = 3;
  return Trainer(model, sgd, options).fit(loader, [&](const Rows&) { return BatchLoss{loss(), 1}; });
}

class TrainerUnregistered : public testing::Test {
 protected:
  const OneThread one_thread_;
};

TEST_F(TrainerUnregistered, ModulesEndTheRunBeforeTheFirstUpdate) {
  Forgetful model;
  const Tensor before = model.a->weight.detach().clone();
  try {
    train(model, {}, [&] { return sum(nn::call(model, ones({2, 4}))); });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_THAT(error.what(),
                StartsWith("Trainer: the loss depends on 2 tensors with gradients that Forgetful does not register, so "
                           "they would not be trained, saved or printed; store a module as nn::Child and a tensor as "
                           "nn::Parameter, freeze it, or set allow_unregistered:\n  [4, 4], first used by linear"));
  }
  EXPECT_EQ(model.a->weight.to_vector<float>(), before.to_vector<float>());
}

TEST_F(TrainerUnregistered, ModulesMayBeFrozenOrAllowed) {
  Forgetful model;
  const auto loss = [&] { return sum(nn::call(model, ones({2, 4}))); };
  EXPECT_EQ(train(model, {.allow_unregistered = true}, loss).step, 3);
  model.b.freeze();
  EXPECT_EQ(train(model, {}, loss).step, 3);
}

TEST_F(TrainerUnregistered, TensorsCreatedInTheFirstForwardAreFoundInTheSecond) {
  Lazy model;
  EXPECT_THROW(train(model, {}, [&] { return sum(nn::call(model, ones({2, 4}))); }), Error);
}

TEST_F(TrainerUnregistered, TensorsOfTheOptimizerAreAllowed) {
  nn::Linear model(4, 4);
  Tensor temperature = ones({}).requires_grad_();
  Tensors parameters = model.parameters();
  parameters.push_back(temperature);
  optim::Sgd sgd(parameters, {.lr = 1e-2});
  Loader<Rows> loader({.plan = TinyTask::plan, .collate = TinyTask::collate});
  const auto loss = [&] { return sum(nn::call(model, ones({2, 4})) * temperature); };
  EXPECT_EQ(Trainer(model, sgd, {.steps = 2}).fit(loader, [&](const Rows&) { return BatchLoss{loss(), 1}; }).step, 2);
  EXPECT_NE(temperature.item(), 1);
}

TEST_F(TrainerUnregistered, TensorsCreatedByLearnAreAllowed) {
  nn::Linear model(4, 4);
  const auto penalty = [&] {
    const Tensor x = ones({2, 4}).requires_grad_();
    const Tensor y = sum(square(nn::call(model, x)));
    return y + sum(square(grad({y}, {x}, {.create_graph = true})[0]));
  };
  EXPECT_EQ(train(model, {}, penalty).step, 3);
}

}  // namespace
}  // namespace tape::train
