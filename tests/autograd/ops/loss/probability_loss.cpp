#include "autograd/ops/loss/probability_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(BinaryCrossEntropy, HandlesProbabilitiesOfZeroAndOne) {
  EXPECT_NEAR(bce_loss(tensor({0.5}, f64), tensor({1}, f64)).item(), std::log(2), 1e-14);
  EXPECT_EQ(bce_loss(tensor({0, 1}, f64), tensor({0, 1}, f64)).item(), 0);
  EXPECT_EQ(bce_loss(tensor({0}, f64), tensor({1}, f64)).item(), 100);
  EXPECT_TAPE_ERROR(bce_loss(tensor({1.5}), tensor({1})), ErrorKind::numeric,
                    "bce_loss: probabilities must be in [0, 1]");
}

TEST(BinaryCrossEntropy, MatchesTheReferenceForLogits) {
  expect_case(reference::bce_with_logits_loss, {{2, 3}}, [](const Tensors& in) {
    return bce_with_logits_loss(in[0], tensor({{0, 1, 0.25}, {1, 0.5, 0}}, f64));
  });
}

TEST(BinaryCrossEntropy, HasAGradientAtLogitsOfZero) {
  const Tensor x = zeros({2}, f64).requires_grad_(), t = tensor({0, 1}, f64);
  bce_with_logits_loss(x, t, {.reduction = Reduction::sum}).backward();
  EXPECT_TRUE(tensors_near(x.grad(), tensor({0.5, -0.5}, f64), 1e-15));
  const auto f = [t](const Tensors& in) { return bce_with_logits_loss(in[0], t, {.reduction = Reduction::none}); };
  EXPECT_TRUE(gradients_match(gradcheck(f, {zeros({2}, f64)})));
  EXPECT_TRUE(gradients_match(gradgradcheck(f, {zeros({2}, f64)})));
}

TEST(BinaryCrossEntropy, HandlesLargeLogits) {
  EXPECT_TRUE(
      tensors_near(bce_with_logits_loss(tensor({1000, -1000, 1000}), tensor({1, 0, 0}), {.reduction = Reduction::none}),
                   tensor({0, 0, 1000}), 1e-6));
}

TEST(BinaryCrossEntropy, IsDifferentiable) {
  const Tensor p = sample_uniform({2, 3}, 0.1, 0.9, 6), t = sample_uniform({2, 3}, 0.1, 0.9, 5);
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    const auto f = [=](const Tensors& in) { return bce_loss(in[0], in[1], reduction); };
    EXPECT_TRUE(gradients_match(gradcheck(f, {p, t})));
    EXPECT_TRUE(gradients_match(gradgradcheck(f, {p, t})));
  }
}

TEST(BinaryCrossEntropy, BroadcastsWeightsAndGivesThemNoGradient) {
  const Tensor x = zeros({2, 3}).requires_grad_(), t = ones({2, 3}), w = full({3}, 2, f32).requires_grad_();
  const Tensor loss = bce_with_logits_loss(x, t, {.weight = w, .pos_weight = w});
  EXPECT_NEAR(loss.item(), 4 * std::log(2.0), 1e-6);
  loss.backward();
  EXPECT_FALSE(w.grad().defined());
  EXPECT_TAPE_ERROR(bce_with_logits_loss(x, t, {.pos_weight = ones({2})}), ErrorKind::shape,
                    "bce_with_logits_loss: pos_weight [2] does not broadcast to [2, 3]");
  EXPECT_TAPE_ERROR(bce_with_logits_loss(x, t, {.weight = ones({4, 2, 3})}), ErrorKind::shape,
                    "bce_with_logits_loss: weight [4, 2, 3] does not broadcast to [2, 3]");
  EXPECT_TAPE_ERROR(bce_with_logits_loss(x, t, {.weight = ones({3}, f64)}), ErrorKind::dtype,
                    "bce_with_logits_loss: dtypes differ: f32 and f64");
}

TEST(KlDiv, IsZeroForEqualDistributionsAndAcceptsLogTargets) {
  const Tensor log_p = log_softmax(grid({3, 4}), -1);
  EXPECT_NEAR(kl_div(log_p, exp(log_p), {.reduction = KlReduction::sum}).item(), 0, 1e-15);
  const Tensor t = softmax(sample_normal({3, 4}), -1);
  for (const KlReduction reduction : {KlReduction::mean, KlReduction::batchmean, KlReduction::sum, KlReduction::none})
    EXPECT_TRUE(tensors_near(kl_div(log_p, t, {.reduction = reduction}),
                             kl_div(log_p, log(t), {.log_target = true, .reduction = reduction}), 1e-14));
  EXPECT_GT(kl_div(log_p, t, {.reduction = KlReduction::batchmean}).item(), 0);
}

/// 0 log 0 is 0, even if x is log 0.
TEST(KlDiv, IsZeroForTargetsOfZero) {
  for (const bool log_target : {false, true}) {
    const Tensor x = tensor({-1, -INFINITY, -2}, f64).requires_grad_();
    const Tensor t =
        (log_target ? tensor({-INFINITY, -INFINITY, -2}, f64) : tensor({0, 0, std::exp(-2)}, f64)).requires_grad_();
    const Tensor loss = kl_div(x, t, {.log_target = log_target, .reduction = KlReduction::sum});
    loss.backward();
    EXPECT_NEAR(loss.item(), 0, 1e-15);
    EXPECT_TRUE(tensors_near(x.grad(), tensor({0, 0, -std::exp(-2)}, f64), 1e-15));
    EXPECT_TRUE(tensors_near(t.grad(), tensor({0, 0, log_target ? std::exp(-2) : 1}, f64), 1e-15));
  }
}

TEST(KlDiv, RefusesNegativeTargetsAndInvalidShapes) {
  EXPECT_TAPE_ERROR(kl_div(zeros({2}), tensor({0.5, -0.5})), ErrorKind::numeric,
                    "kl_div: target [2] contains a negative value");
  EXPECT_NO_THROW(kl_div(zeros({2}), tensor({0.5, -0.5}), {.log_target = true}));
  EXPECT_TAPE_ERROR(kl_div(scalar(0), scalar(1), {.reduction = KlReduction::batchmean}), ErrorKind::shape,
                    "kl_div: batchmean needs a first axis, x is []");
  EXPECT_TAPE_ERROR(kl_div(zeros({2, 3}), ones({3})), ErrorKind::shape, "kl_div: shapes differ: [2, 3] and [3]");
  EXPECT_TAPE_ERROR(kl_div(arange(2), arange(2)), ErrorKind::dtype, "kl_div: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
