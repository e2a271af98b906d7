#include "train/distributed/optimizer_slices.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "optim/adam.h"
#include "optim/adamw.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::train {
namespace {

using optim::Adam, optim::AdamOptions, optim::AdamW, optim::Sgd, optim::SgdOptions;

/// Two optimizers on tensors that share their values, each with half of the slices, must make the whole update.
template <class Make>
void check_slices(Make&& make) {
  Generator stream(8);
  const Tensor a = randn({3, 5}, f64, stream), b = randn({4}, f64, stream);
  const auto leaves = [&] { return Tensors{a.clone().requires_grad_(), b.clone().requires_grad_()}; };
  Tensors whole = leaves(), parts = leaves();
  const auto all = make(whole), first = make(parts), second = make(parts);
  const std::vector<ParameterSlice> begin{{0, 0, 7}, {1, 0, 4}}, end{{0, 7, 8}, {1, 4, 0}};
  std::optional<OptimizerSlices> of_first, of_second;
  for (int step = 0; step < 4; ++step) {
    const Tensors gradients{randn({3, 5}, f64, stream), randn({4}, f64, stream)};
    for (size_t i = 0; i < 2; ++i) whole[i].set_grad(gradients[i]);
    if (step == 1) {  // state from the first step is cut
      of_first.emplace(*first, begin);
      of_second.emplace(*second, end);
    }
    const optim::StepOptions options{.gradient_scale = 0.5};
    all->step(options);
    if (step == 0) {
      for (size_t i = 0; i < 2; ++i) parts[i].set_grad(gradients[i]);
      first->step(options);
      const NoGrad no_grad;
      for (size_t i = 0; i < 2; ++i) parts[i].copy_(whole[i]);
      second->load_state_dict(first->state_dict());
      continue;
    }
    for (const auto& [optimizer, slices] : {std::pair(&*of_first, begin), {&*of_second, end}}) {
      std::vector<SliceGradient> given;
      for (size_t i = 0; i < 2; ++i)
        given.push_back({i, slice(reshape(gradients[i], Shape{gradients[i].numel()}), 0,
                                  {.start = slices[i].begin, .end = slices[i].begin + slices[i].count})});
      optimizer->step(given, options);
    }
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(parts[i].to_vector<double>(), whole[i].to_vector<double>()) << "parameter " << i << ", step " << step;
  }
}

TEST(OptimizerSlices, TwoOptimizersTogetherMakeTheWholeUpdate) {
  check_slices([](const Tensors& p) { return std::make_unique<Adam>(p, AdamOptions{.weight_decay = 0.1}); });
  check_slices([](const Tensors& p) { return std::make_unique<Sgd>(p, SgdOptions{.lr = 0.1, .momentum = 0.9}); });
  check_slices([](const Tensors& p) { return std::make_unique<Sgd>(p, SgdOptions{.lr = 0.1}); });
}

TEST(OptimizerSlices, AreCutFromALoadedWholeState) {
  Tensor p = tensor({1, 2, 3, 4}, f64).requires_grad_(), same = tensor({1, 2, 3, 4}, f64).requires_grad_();
  Adam whole({p}), part({same});
  p.set_grad(tensor({1, 2, 3, 4}, f64));
  whole.step();
  const OptimizerSlices slices(part, {{0, 1, 2}});
  part.load_state_dict(whole.state_dict());
  EXPECT_TRUE(tensors_near(part.state_dict().at("0.m"), tensor({0.2, 0.3}, f64), 1e-12));
  EXPECT_EQ(part.state_dict().at("0.step").item(), 1);
}

/// The random bits of stochastic rounding to bf16 depend on the value's index in the whole parameter.
TEST(OptimizerSlices, HaveTheBitsOfTheWholeWithMomentsInBf16) {
  const auto start = [] { return full({10'000}, 0.5).requires_grad_(); };
  Tensor whole = start(), sliced = start();
  const optim::AdamWOptions options{.lr = 1e-2, .moments = optim::MomentDtype::bf16};
  AdamW first({whole}, options), second({sliced}, options);
  OptimizerSlices slices(second, {{.parameter = 0, .begin = 3000, .count = 7000}});
  for (uint64_t step = 0; step < 6; ++step) {
    Generator draws(step);
    const Tensor gradient = randn({10'000}, f32, draws);
    whole.set_grad(gradient);
    first.step();
    slices.step({{.parameter = 0, .gradient = slice(gradient, 0, {.start = 3000})}});
  }
  EXPECT_TRUE(tensors_equal(slice(whole.detach(), 0, {.start = 3000}), slice(sliced.detach(), 0, {.start = 3000})));
  EXPECT_TRUE(tensors_equal(slice(sliced.detach(), 0, {.end = 3000}), full({3000}, 0.5)));
}

TEST(OptimizerSlices, RefusesInvalidSlicesAndGradients) {
  Tensor p = tensor({1, 2, 3}, f64).requires_grad_();
  Adam adam({p});
  EXPECT_TAPE_ERROR(OptimizerSlices(adam, {}), ErrorKind::config, "OptimizerSlices: got 0 slices for 1 parameters");
  EXPECT_TAPE_ERROR(OptimizerSlices(adam, {{0, 2, 2}}), ErrorKind::config,
                    "OptimizerSlices: 2 values from index 2 do not fit in parameter 0 [3]");
  OptimizerSlices slices(adam, {{0, 1, 2}});
  EXPECT_TAPE_ERROR(OptimizerSlices(adam, {{0, 1, 2}}), ErrorKind::config,
                    "OptimizerSlices: the optimizer already uses slices");
  EXPECT_TAPE_ERROR(slices.step({{0, tensor({1, 2, 3}, f64)}}), ErrorKind::shape,
                    "OptimizerSlices: the gradient of parameter 0 [3] is f64 [3], expected f64 [2]");
  EXPECT_TAPE_ERROR(slices.step({{0, tensor({1, 2}, f64), tensor({1}, f64)}}), ErrorKind::shape,
                    "OptimizerSlices: the values of parameter 0 [3] are f64 [1], but their gradient is f64 [2]");
  p.set_grad(tensor({1, 2, 3}, f64));
  EXPECT_TAPE_ERROR(
      adam.step(), ErrorKind::config,
      "Adam: step() cannot be used after shard_state(); call step_shards() with the gradients of the parts");
}

}  // namespace
}  // namespace tape::train
