#include <memory>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "optim/adam.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::optim {
namespace {

/// Two halves of the work, done by two optimizers on tensors that share their values, are the whole.
template <class Make>
void check_slices(Make&& make) {
  Generator stream(8);
  const Tensor a = randn({3, 5}, f64, stream), b = randn({4}, f64, stream);
  const auto leaves = [&] { return Tensors{a.clone().requires_grad_(), b.clone().requires_grad_()}; };
  Tensors whole = leaves(), parts = leaves();
  const auto all = make(whole), first = make(parts), second = make(parts);
  const std::vector<Slice> begin{{0, 7}, {0, 4}}, end{{7, 8}, {4, 0}};
  for (int step = 0; step < 4; ++step) {
    const Tensors gradients{randn({3, 5}, f64, stream), randn({4}, f64, stream)};
    for (size_t i = 0; i < 2; ++i) whole[i].set_grad(gradients[i]);
    if (step == 1) {  // what was kept of the first step is cut
      first->keep_slices(begin);
      second->keep_slices(end);
    }
    const StepOptions options{.gradient_scale = 0.5};
    all->step(options);
    if (step == 0) {
      for (size_t i = 0; i < 2; ++i) parts[i].set_grad(gradients[i]);
      first->step(options);
      const NoGrad no_grad;
      for (size_t i = 0; i < 2; ++i) parts[i].copy_(whole[i]);
      second->load_state_dict(first->state_dict());
      continue;
    }
    for (const auto& [optimizer, slices] : {std::pair(first.get(), begin), {second.get(), end}}) {
      std::vector<GradientSlice> given;
      for (size_t i = 0; i < 2; ++i)
        given.push_back({i, slice(reshape(gradients[i], Shape{gradients[i].numel()}), 0,
                                  {.start = slices[i].begin, .end = slices[i].begin + slices[i].count})});
      optimizer->step_slices(given, options);
    }
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(parts[i].to_vector<double>(), whole[i].to_vector<double>()) << "parameter " << i << ", step " << step;
  }
}

TEST(OptimizerSlices, OfTwoOptimizersAreTheWholeUpdate) {
  check_slices([](const Tensors& p) { return std::make_unique<Adam>(p, AdamOptions{.weight_decay = 0.1}); });
  check_slices([](const Tensors& p) { return std::make_unique<Sgd>(p, SgdOptions{.lr = 0.1, .momentum = 0.9}); });
  check_slices([](const Tensors& p) { return std::make_unique<Sgd>(p, SgdOptions{.lr = 0.1}); });
}

TEST(OptimizerSlices, AreCutFromAWholeStateThatIsLoaded) {
  Tensor p = tensor({1, 2, 3, 4}, f64).requires_grad_(), same = tensor({1, 2, 3, 4}, f64).requires_grad_();
  Adam whole({p}), part({same});
  p.set_grad(tensor({1, 2, 3, 4}, f64));
  whole.step();
  part.keep_slices({{1, 2}});
  part.load_state_dict(whole.state_dict());
  EXPECT_TRUE(tensors_near(part.state_dict().at("0.m"), tensor({0.2, 0.3}, f64), 1e-12));
  EXPECT_EQ(part.state_dict().at("0.step").item(), 1);
}

TEST(OptimizerSlices, MustLieWithinTheirParametersAndHaveTheirGradients) {
  Tensor p = tensor({1, 2, 3}, f64).requires_grad_();
  Adam adam({p});
  EXPECT_TAPE_ERROR(adam.keep_slices({}), ErrorKind::config, "Adam: keep_slices: 0 slices for 1 parameters");
  EXPECT_TAPE_ERROR(adam.keep_slices({{2, 2}}), ErrorKind::config,
                    "Adam: keep_slices: 2 values from 2 on are not within parameter 0 [3]");
  EXPECT_TAPE_ERROR(adam.step_slices({{0, tensor({1, 2, 3}, f64)}}), ErrorKind::shape,
                    "Adam: step_slices: the gradient of parameter 0 is f64 [3], its slice is f64 not chosen");
  adam.keep_slices({{1, 2}});
  EXPECT_TAPE_ERROR(adam.keep_slices({{1, 2}}), ErrorKind::config, "Adam: keep_slices: slices are kept already");
  EXPECT_TAPE_ERROR(adam.step_slices({{0, tensor({1, 2, 3}, f64)}}), ErrorKind::shape,
                    "Adam: step_slices: the gradient of parameter 0 is f64 [3], its slice is f64 [2]");
  EXPECT_TAPE_ERROR(adam.step_slices({{0, tensor({1, 2}, f64), tensor({1}, f64)}}), ErrorKind::shape,
                    "Adam: step_slices: the values of parameter 0 are f64 [1], their gradient is f64 [2]");
  EXPECT_TAPE_ERROR(adam.step_slices({{1, tensor({1, 2}, f64)}}), ErrorKind::index,
                    "Adam: step_slices: there is no parameter 1");
  p.set_grad(tensor({1, 2, 3}, f64));
  EXPECT_TAPE_ERROR(adam.step(), ErrorKind::config,
                    "Adam: step() of an optimizer that keeps slices; step_slices() takes their gradients");
}

}  // namespace
}  // namespace tape::optim
