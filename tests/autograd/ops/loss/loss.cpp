#include "autograd/ops/loss/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

const Tensor target = tensor({1, 0, 3}, i64);
const Tensor class_weight = tensor({1, 0.5, 2, 1.5}, f64);

TEST(CrossEntropy, AgreesWithPyTorch) {
  const auto plain = [](const Tensors& in) { return cross_entropy(in[0], target); };
  const auto full = [](const Tensors& in) {
    return cross_entropy(in[0], target, {.ignore_index = 0, .label_smoothing = 0.1, .weight = class_weight});
  };
  expect_case(reference::cross_entropy, {{3, 4}}, plain);
  expect_case(reference::cross_entropy_full, {{3, 4}}, full);
  const Composed composed;
  expect_case(reference::cross_entropy, {{3, 4}}, plain);
  expect_case(reference::cross_entropy_full, {{3, 4}}, full);
}

TEST(CrossEntropy, AgreesWithPyTorchForProbabilities) {
  expect_case(reference::cross_entropy_probabilities, {{3, 4}, {3, 4}},
              [](const Tensors& in) { return cross_entropy(in[0], in[1]); });
  expect_case(reference::cross_entropy_probabilities_full, {{3, 4}, {3, 4}}, [](const Tensors& in) {
    return cross_entropy(in[0], in[1], {.label_smoothing = 0.1, .weight = class_weight});
  });
}

TEST(CrossEntropy, IsThatOfTheClassForOneHotProbabilities) {
  const Tensor x = grid({3, 4}), chosen = one_hot(target, 4, f64);
  for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    const CrossEntropyOptions options{.label_smoothing = 0.2, .reduction = reduction};
    EXPECT_TRUE(tensors_near(cross_entropy(x, chosen, options), cross_entropy(x, target, options), 1e-14));
  }
  EXPECT_NEAR(cross_entropy(x.to(f16), chosen.to(f16)).item(), cross_entropy(x, target).item(), 2e-3);
  EXPECT_EQ(cross_entropy(zeros({0, 4}), zeros({0, 4})).item(), 0);
}

TEST(CrossEntropy, IgnoresImpossibleClassesWithoutProbability) {
  const Tensor x = tensor({{1, -INFINITY, 2}}, f64).requires_grad_();
  const Tensor loss = cross_entropy(x, tensor({{0.25, 0, 0.75}}, f64));
  loss.backward();
  const double p = 1 / (1 + std::exp(1));
  EXPECT_NEAR(loss.item(), -0.25 * std::log(p) - 0.75 * std::log(1 - p), 1e-14);
  EXPECT_TRUE(tensors_near(x.grad(), tensor({{p - 0.25, 0, 0.25 - p}}, f64), 1e-14));
}

TEST(CrossEntropy, ReducesToTheSumAndTheMean) {
  const Tensor x = grid({3, 4});
  const Tensor each = cross_entropy(x, target, {.reduction = Reduction::none});
  ASSERT_EQ(each.shape(), Shape({3}));
  EXPECT_NEAR(cross_entropy(x, target, {.reduction = Reduction::sum}).item(), sum(each).item(), 1e-14);
  EXPECT_NEAR(cross_entropy(x, target).item(), mean(each).item(), 1e-14);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(each[i].item(), -log_softmax(x, -1)[i][target[i].item<int64_t>()].item(), 1e-14);
}

TEST(CrossEntropy, IsTheLogOfTheClassCountForUniformLogits) {
  EXPECT_NEAR(cross_entropy(zeros({2, 5, 10}), zeros({2, 5}, i64)).item(), std::log(10), 1e-6);
}

TEST(CrossEntropy, ExcludesIgnoredTargets) {
  const Tensor x = grid({3, 4}).requires_grad_();
  const Tensor loss = cross_entropy(x, tensor({1, -100, 3}, i64));
  loss.backward();
  EXPECT_NEAR(loss.item(), cross_entropy(stack({x[0], x[2]}), tensor({1, 3}, i64)).item(), 1e-14);
  EXPECT_TRUE(tensors_equal(x.grad()[1], zeros({4}, f64)));
}

TEST(CrossEntropy, IsZeroIfEverythingIsIgnored) {
  const Tensor x = grid({2, 4}).requires_grad_();
  const Tensor loss = cross_entropy(x, tensor({0, 0}, i64), {.ignore_index = 0, .label_smoothing = 0.1});
  loss.backward();
  EXPECT_EQ(loss.item(), 0);
  EXPECT_TRUE(tensors_equal(x.grad(), zeros({2, 4}, f64)));
}

TEST(CrossEntropy, ShowsItsOptionsInTheFormula) {
  const Tensor x = grid({3, 4}).requires_grad_();
  const auto formula = [&](CrossEntropyOptions options) {
    options.reduction = Reduction::none;
    return formula_of(cross_entropy(x, target, options), {x, options.weight});
  };
  EXPECT_EQ(formula({}).forward, "y [3]ₜ = logsumexp(x [3, 4]ₜ) − x[t, target]");
  EXPECT_EQ(formula({}).backward[0], "dx [3, 4] = dy ⊙ (softmax(x) − onehot(target))");
  EXPECT_EQ(formula({.label_smoothing = 0.1}).forward,
            "y [3]ₜ = (1−s) (logsumexp(x [3, 4]ₜ) − x[t, target]) + s · its mean over all classes, s = 0.1");
  EXPECT_EQ(formula({.label_smoothing = 0.1}).backward[0],
            "dx [3, 4] = dy ⊙ (softmax(x) − (1−s) onehot(target) − s/V)");
  const Formula weighted = formula({.weight = class_weight});
  EXPECT_EQ(weighted.forward, "y [3]ₜ = w[target] (logsumexp(x [3, 4]ₜ) − x[t, target]), w [4] the class weights");
  EXPECT_EQ(weighted.backward[0], "dx [3, 4] = dy ⊙ w[target] (softmax(x) − onehot(target))");
  const Formula both = formula({.label_smoothing = 0.1, .weight = class_weight});
  EXPECT_EQ(
      both.forward,
      "y [3]ₜ = (1−s) w[target] (logsumexp(x [3, 4]ₜ) − x[t, target]) + s · its mean over all classes, s = 0.1, w "
      "[4] the class weights");
  EXPECT_EQ(both.backward[0],
            "dx [3, 4] = dy ⊙ ((1−s) w[target] (softmax(x) − onehot(target)) + s/V (softmax(x) Σ w − w))");
}

/// The backward reads the target, so a change to it must be detected.
TEST(CrossEntropy, RefusesABackwardAfterItsTargetChanged) {
  const Tensor x = grid({3, 4}).requires_grad_();
  Tensor classes = target.clone();
  const Tensor loss = cross_entropy(x, classes);
  classes.fill_(2);
  EXPECT_TAPE_ERROR(loss.backward(), ErrorKind::graph,
                    "backward of 'cross_entropy': a saved value [3] was modified in place (version 1, saved "
                    "at version 0)");
}

TEST(CrossEntropy, HandlesLargeLogits) {
  EXPECT_NEAR(cross_entropy(tensor({{1e4, 0}, {0, 1e4}}), tensor({1, 1}, i64)).item(), 5e3, 1e-2);
}

TEST(CrossEntropy, AcceptsNegativeClassWeights) {
  const Tensor x = tensor({{1, 2}}, f64), first = tensor({0}, i64);
  EXPECT_NEAR(cross_entropy(x, first, {.weight = tensor({-1, 1}, f64)}).item(), std::log(1 + std::exp(1)), 1e-12);
}

TEST(CrossEntropy, RefusesInvalidTargetsAndShapes) {
  const Tensor x = zeros({4, 10});
  EXPECT_TAPE_ERROR(cross_entropy(x, tensor({1, 2, 3, 12}, i64)), ErrorKind::index,
                    "cross_entropy: target 12 at position 3 is outside [0, 10)");
  EXPECT_TAPE_ERROR(cross_entropy(x, tensor({1, 2, -1, 3}, i64)), ErrorKind::index,
                    "cross_entropy: target -1 at position 2 is outside [0, 10)");
  EXPECT_TAPE_ERROR(cross_entropy(x, tensor({1, 2, 3, 4})), ErrorKind::dtype,
                    "cross_entropy: targets must be i64, or probabilities in the logits' shape [4, 10]; got f32 [4]");
  EXPECT_TAPE_ERROR(cross_entropy(x, zeros({4, 10}, f64)), ErrorKind::dtype,
                    "cross_entropy: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(cross_entropy(x, zeros({4, 10}), {.ignore_index = 0}), ErrorKind::config,
                    "cross_entropy: ignore_index 0 cannot be used with a target of probabilities");
  EXPECT_TAPE_ERROR(cross_entropy(x, zeros({4, 10}), {.weight = ones({3})}), ErrorKind::shape,
                    "cross_entropy: weight must be [10], got [3]");
  EXPECT_TAPE_ERROR(cross_entropy(scalar(1), scalar(1)), ErrorKind::shape,
                    "cross_entropy: the logits must have an axis of classes, got []");
  EXPECT_TAPE_ERROR(
      cross_entropy(x, tensor({1, 2, 3}, i64)), ErrorKind::shape,
      "cross_entropy: the target must have the shape of the scores without the last axis: [4, 10] and [3]");
  EXPECT_TAPE_ERROR(cross_entropy(x, zeros({4}, i64), {.label_smoothing = 1.5}), ErrorKind::config,
                    "cross_entropy: label_smoothing must be in [0, 1], got 1.5");
  EXPECT_TAPE_ERROR(cross_entropy(x, zeros({4}, i64), {.weight = ones({3})}), ErrorKind::shape,
                    "cross_entropy: weight must be [10], got [3]");
}

TEST(NllLoss, AgreesWithPyTorch) {
  expect_case(reference::nll_loss, {{3, 4}},
              [](const Tensors& in) { return nll_loss(in[0], target, {.reduction = Reduction::sum}); });
}

TEST(NllLoss, IsCrossEntropyOfLogSoftmax) {
  const Tensor x = grid({3, 4});
  EXPECT_NEAR(nll_loss(log_softmax(x, -1), target, {.ignore_index = 0, .weight = class_weight}).item(),
              cross_entropy(x, target, {.ignore_index = 0, .weight = class_weight}).item(), 1e-14);
}

/// The gradient may overwrite the logits, but only if nothing else references them.
TEST(CrossEntropy, DoesNotOverwriteReferencedLogitsOrRetainedGraphs) {
  const Tensor x = sample_normal({6, 5}).requires_grad_(), classes = tensor({0, 1, 2, 3, 4, 0}, i64);
  const auto logits_of = [&] { return x * 2.0; };
  const Tensor kept = logits_of();
  const std::vector<double> before = kept.to_vector<double>();
  cross_entropy(kept, classes).backward();
  EXPECT_EQ(kept.to_vector<double>(), before);
  const std::vector<double> gradient = x.grad().to_vector<double>();

  Tensor again = x;
  again.zero_grad();
  cross_entropy(logits_of(), classes).backward();  // nothing else references these
  EXPECT_EQ(x.grad().to_vector<double>(), gradient);

  again.zero_grad();
  const Tensor loss = cross_entropy(logits_of(), classes);
  backward({loss}, {}, {.retain_graph = true});
  again.zero_grad();
  backward({loss}, {});
  EXPECT_EQ(x.grad().to_vector<double>(), gradient);
}

}  // namespace
}  // namespace tape
