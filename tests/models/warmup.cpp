// Why warm-up is needed (Xiong et al. 2020, "On layer normalization in the Transformer architecture", 3): with
// post-norm the initial gradients are too large for a high learning rate.

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adam.h"
#include "optim/schedule.h"

namespace tape::models {
namespace {

constexpr int64_t steps = 300;

/// Mean loss of the last 20 steps of learning to reverse rows of six digits. The learning rate rises to 0.01 during
/// the first `warmup` steps and then falls to 0.
double loss_after_training(nn::NormPlace norm, int64_t warmup) {
  manual_seed(1);
  Generator draws(7);
  Transformer model({.src_vocab = 13,
                     .tgt_vocab = 13,
                     .d_model = 32,
                     .layers = 4,
                     .heads = 4,
                     .d_ff = 64,
                     .dropout = 0,
                     .norm = norm,
                     .max_length = 16});
  optim::Adam adam(model.parameters(), {.lr = 0.01, .betas = {0.9, 0.98}, .eps = 1e-9});
  optim::LinearSchedule schedule(adam, {.warmup = warmup, .total = steps});
  double last = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    const Tensor src = randint(3, 13, {32, 6}, draws), reversed = flip(src, 1);
    const Tensor given = cat({full({32, 1}, 1, i64), slice(reversed, 1, {.end = 5})}, 1);
    const Tensor loss = cross_entropy(model(src, given), reversed);
    adam.zero_grad();
    loss.backward();
    adam.step();
    schedule.step();
    if (step > steps - 20) last += loss.item() / 20;
  }
  return last;
}

// Guessing one of ten digits has loss log 10 = 2.30.
TEST(Warmup, IsNeededByPostNormAtAHighLearningRate) { EXPECT_GT(loss_after_training(nn::NormPlace::post, 0), 1.4); }
TEST(Warmup, LetsPostNormLearnAtAHighLearningRate) { EXPECT_LT(loss_after_training(nn::NormPlace::post, 100), 0.7); }
TEST(Warmup, IsNotNeededByPreNormAtAHighLearningRate) { EXPECT_LT(loss_after_training(nn::NormPlace::pre, 0), 0.7); }

}  // namespace
}  // namespace tape::models
