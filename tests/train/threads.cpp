// Threads that train at the same time do not know of each other.

#include <gtest/gtest.h>

#include <thread>

#include "autograd/create.h"
#include "autograd/ops/loss.h"
#include "models/transformer.h"
#include "optim/adam.h"
#include "optim/clip.h"

namespace tape {
namespace {

/// The weights of a Transformer with dropout after some steps on random tokens, all drawn from the thread's streams.
std::vector<float> trained(uint64_t seed) {
  manual_seed(seed);
  models::Transformer model({.src_vocab = 11,
                             .tgt_vocab = 11,
                             .d_model = 16,
                             .layers = 1,
                             .heads = 2,
                             .d_ff = 32,
                             .dropout = 0.3,
                             .max_length = 8});
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  for (int step = 0; step < 20; ++step) {
    adam.zero_grad();
    const Tensor src = randint(1, 11, {4, 6}), tgt = randint(1, 11, {4, 5});
    cross_entropy(model(src, tgt), tgt).backward();
    optim::clip_grad_norm(model.parameters(), 1);
    adam.step();
  }
  std::vector<float> weights;
  for (const Tensor& parameter : model.parameters()) {
    const std::vector<float> values = parameter.to_vector<float>();
    weights.insert(weights.end(), values.begin(), values.end());
  }
  return weights;
}

TEST(Threads, TrainTwoModelsWithDropoutAtOnceAsAlone) {
  const std::vector<float> first = trained(1), second = trained(2);
  ASSERT_NE(first, second);
  std::vector<float> found[2];
  std::thread one([&] { found[0] = trained(1); }), other([&] { found[1] = trained(2); });
  one.join();
  other.join();
  EXPECT_EQ(found[0], first);
  EXPECT_EQ(found[1], second);
}

}  // namespace
}  // namespace tape
