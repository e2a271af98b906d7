#include "optim/step_in_backward.h"

#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "autograd/transforms/checkpoint.h"
#include "autograd/transforms/rematerialize.h"
#include "optim/adam.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::optim {
namespace {

/// A model with normalized layers that share weights, a tied table, and an unused parameter.
struct Model {
  Tensors parameters;
  explicit Model(uint64_t seed = 5) {
    Generator stream(seed);
    for (const Shape& shape : {Shape{6, 4}, Shape{4, 4}, Shape{4}, Shape{4, 4}, Shape{4}, Shape{3}})
      parameters.push_back(randn(shape, f32, stream).requires_grad_());
  }
  Tensor loss(const Tensor& ids, bool checkpoints) const {
    const Tensor &table = parameters[0], &shared = parameters[1], &bias = parameters[2], &own = parameters[3],
                 &scale = parameters[4];
    const auto layer = [&](const Tensors& in) {
      return layer_norm(in[0] + gelu(matmul(in[0], shared) + bias), scale, bias);
    };
    Tensor h = embedding(table, ids);
    for (int i = 0; i < 2; ++i) h = checkpoints ? checkpoint(layer, {h}) : layer({h});
    return cross_entropy(matmul(matmul(h, own), transpose(table, 0, 1)), ids);
  }
};

template <class Make>
void check_same_bits(Make&& make) {
  const Tensor ids = tensor({0, 3, 5, 1, 3}, i64);
  for (const bool checkpoints : {false, true}) {
    Model behind, within;
    const auto apart = make(behind.parameters), fused = make(within.parameters);
    for (int step = 0; step < 4; ++step) {
      const Rematerialize scope(0);
      apart->zero_grad();
      const Tensor loss = behind.loss(ids, checkpoints), same = within.loss(ids, checkpoints);
      EXPECT_EQ(loss.item(), same.item());
      loss.backward();
      const double norm = grad_norm(behind.parameters);
      apart->step();
      const StepInBackward stepping(*fused);
      same.backward();
      EXPECT_NEAR(stepping.grad_norm(), norm, 1e-12 * norm);
      EXPECT_EQ(stepping.updated(), 5);
      for (const Tensor& parameter : within.parameters) EXPECT_FALSE(parameter.grad().defined());
    }
    for (size_t i = 0; i < behind.parameters.size(); ++i)
      EXPECT_EQ(within.parameters[i].to_vector<float>(), behind.parameters[i].to_vector<float>()) << i;
    const auto state = fused->state_dict();
    for (const auto& [name, value] : apart->state_dict()) EXPECT_TRUE(tensors_equal(state.at(name), value)) << name;
  }
}

TEST(StepInBackward, GivesTheBitsOfAStepAfterTheBackward) {
  check_same_bits([](const Tensors& p) { return std::make_unique<AdamW>(p, AdamWOptions{.weight_decay = 0.1}); });
  check_same_bits(
      [](const Tensors& p) { return std::make_unique<Adam>(p, AdamOptions{.moments = MomentDtype::bf16}); });
  check_same_bits([](const Tensors& p) { return std::make_unique<Sgd>(p, SgdOptions{.lr = 0.1, .momentum = 0.9}); });
}

/// Returns the peak memory of a backward beyond the memory before it.
int64_t peak_of(const std::function<void()>& run) {
  const int64_t before = memory_stats().live_bytes;
  reset_peak_memory();
  run();
  return memory_stats().peak_bytes - before;
}

TEST(StepInBackward, KeepsGradientsOfOneLayerAtATime) {
  constexpr int64_t kWidth = 64, kLayers = 16, kMatrix = kWidth * kWidth * 4;
  Tensors weights;
  for (int64_t i = 0; i < kLayers; ++i) weights.push_back(randn({kWidth, kWidth}).requires_grad_());
  Sgd sgd(weights, {.lr = 0.01});
  const Tensor x = randn({2, kWidth});
  const auto loss = [&] {
    Tensor h = x;
    for (const Tensor& weight : weights) h = tanh(matmul(h, weight));
    return sum(h);
  };
  const Tensor apart = loss();
  EXPECT_GE(peak_of([&] { apart.backward(); }), (kLayers - 1) * kMatrix);
  sgd.zero_grad();
  const Tensor fused = loss();
  EXPECT_LE(peak_of([&] {
              const StepInBackward stepping(sgd);
              fused.backward();
            }),
            4 * kMatrix);
}

TEST(StepInBackward, AddsGradientsAccumulatedBefore) {
  Tensor a = tensor({1, 2}, f64).requires_grad_(), b = tensor({1, 2}, f64).requires_grad_();
  Sgd of_a({a}, {.lr = 0.5}), of_b({b}, {.lr = 0.5});
  sum(square(a)).backward();
  sum(a * 3).backward();
  of_a.step();
  sum(square(b)).backward();
  const StepInBackward stepping(of_b);
  sum(b * 3).backward();
  EXPECT_EQ(b.to_vector<double>(), a.to_vector<double>());
}

TEST(StepInBackward, EndsWithItsScope) {
  Tensor a = tensor({1, 2}, f64).requires_grad_();
  Sgd sgd({a}, {.lr = 0.5});
  { const StepInBackward stepping(sgd); }
  sum(square(a)).backward();
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{2, 4}));
  EXPECT_EQ(a.to_vector<double>(), (std::vector<double>{1, 2}));
}

TEST(StepInBackward, RefusesASecondBackwardThroughTheTape) {
  Tensor a = tensor({1, 2}, f64).requires_grad_();
  Sgd sgd({a}, {.lr = 0.5});
  const Tensor loss = sum(square(a));
  const StepInBackward stepping(sgd);
  loss.backward({.retain_graph = true});
  EXPECT_THROW(loss.backward(), Error);
}

TEST(StepInBackward, ReportsWhatWasUpdatedBeforeANonFiniteGradient) {
  Tensor root = tensor({0, 2}, f64).requires_grad_(), added = tensor({1, 2}, f64).requires_grad_();
  Sgd sgd({root, added}, {.lr = 0.5});
  const Tensor loss = sum(sqrt(root) + added);
  const StepInBackward stepping(sgd);
  EXPECT_TAPE_ERROR(loss.backward(), ErrorKind::numeric,
                    "StepInBackward: the gradient of parameter 0 [2] contains NaN or infinity; 1 of 2 parameters were "
                    "updated before it");
  EXPECT_EQ(root.to_vector<double>(), (std::vector<double>{0, 2}));
  EXPECT_EQ(added.to_vector<double>(), (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(stepping.updated(), 1);
}

TEST(StepInBackward, RefusesAnOptimizerThatKeepsParts) {
  Tensor a = tensor({1, 2}, f64).requires_grad_();
  Sgd sgd({a}, {.lr = 0.5});
  sgd.shard_state([](size_t, const Tensor& whole) { return whole.clone(); });
  EXPECT_TAPE_ERROR(StepInBackward{sgd}, ErrorKind::config,
                    "StepInBackward: not supported after shard_state(), because gradients come from several processes");
  EXPECT_TAPE_ERROR(sgd.step_parameter(1), ErrorKind::index, "Sgd: step_parameter: there is no parameter 1");
}

TEST(StepInBackward, UpdatesParametersThatWereFrozenInTheMeantime) {
  Tensor p = ones({2}).requires_grad_();
  Sgd sgd({p}, {.lr = 1});
  const StepInBackward stepping(sgd);
  p.requires_grad_(false);
  p.requires_grad_(true);
  p.set_data(full({2}, 3));
  sum(p * 2).backward();
  EXPECT_EQ(stepping.updated(), 1);
  EXPECT_TRUE(tensors_equal(p.detach(), ones({2})));
}

TEST(StepInBackward, EndsWhileParametersAreFrozen) {
  Tensor p = ones({2}).requires_grad_();
  Sgd sgd({p}, {.lr = 1});
  {
    const StepInBackward stepping(sgd);
    p.requires_grad_(false);
  }
  p.requires_grad_(true);
  sum(p).backward();
  EXPECT_TRUE(tensors_equal(p.detach(), ones({2})));
}

}  // namespace
}  // namespace tape::optim
