// Threads that train, decode and check gradients at the same time do not affect each other: each is bitwise equal to
// running by itself.

#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/diagnose/anomaly.h"
#include "autograd/diagnose/profile.h"
#include "autograd/diagnose/tape_values.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "models/decoders/gpt.h"
#include "models/decoding/beam.h"
#include "models/decoding/generate.h"
#include "models/decoding/greedy.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adam.h"
#include "optim/clip.h"

namespace tape {
namespace {

std::string bytes_of_all(const Tensors& tensors) {
  std::string bytes;
  for (const Tensor& x : tensors)
    bytes.append(static_cast<const char*>(x.raw()), static_cast<size_t>(x.numel() * size_of(x.dtype())));
  return bytes;
}

/// Large enough that kernels would divide their work among threads.
models::TransformerConfig shared_config() {
  return {.src_vocab = 50,
          .tgt_vocab = 50,
          .d_model = 64,
          .layers = 1,
          .heads = 2,
          .d_ff = 256,
          .dropout = 0.3,
          .max_length = 32};
}

/// The weights of a Transformer with dropout after some steps on random tokens, all drawn from the thread's streams.
std::string train_some(uint64_t seed, int steps) {
  manual_seed(seed);
  models::Transformer model(shared_config());
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  for (int step = 0; step < steps; ++step) {
    adam.zero_grad();
    const Tensor src = randint(1, 50, {8, 24}), tgt = randint(1, 50, {8, 24});
    cross_entropy(model(src, tgt), tgt).backward();
    optim::clip_grad_norm(model.parameters(), 1);
    adam.step();
  }
  return bytes_of_all(model.parameters());
}

/// Trains with a profiler, whose counts must be equal as well.
std::string train_under_a_profile() {
  const Profile profile(Profile::Keep::costs_and_events);
  std::string result = train_some(1, 6);
  for (const auto& [what, cost] : profile.costs()) result += what.second + std::to_string(cost.calls);
  return result;
}

/// Trains in bf16 with composed operations and anomaly detection.
std::string train_composed() {
  const MatmulPrecisionScope precision(MatmulPrecision::medium);
  const Composed composed;
  const DetectAnomaly anomaly;
  return train_some(2, 4);
}

std::string decode_three_ways() {
  manual_seed(3);
  models::Transformer model(shared_config());
  models::Gpt gpt({.vocab = 50, .d_model = 64, .layers = 1, .heads = 2, .max_length = 32});
  model.eval();
  gpt.eval();
  const Tensor src = randint(1, 50, {6, 20});
  std::string said;
  const auto say = [&said](const std::vector<int64_t>& tokens) {
    for (const int64_t token : tokens) said += std::to_string(token) + " ";
    said += "\n";
  };
  for (const auto& tokens : models::greedy_decode(model, src, {.max_length = 16})) say(tokens);
  for (const auto& row : models::beam_search(model, src, {.beams = 3, .max_length = 16})) say(row[0].tokens);
  for (const auto& text : models::generate(gpt, {{1, 2, 3}, {4}}, {.max_new_tokens = 20})) say(text.tokens);
  return said;
}

/// A gradient check of attention and dropout that also keeps its tape.
std::string check_gradients() {
  manual_seed(4);
  const TapeValues values;
  const auto attend = [](const Tensors& in) {
    return dropout(
        softmax(scaled_dot_product_attention(in[0], in[1], in[1], {.mask = Mask::causal(), .dropout = 0.2}), -1), 0.1);
  };
  std::string found;
  for (int round = 0; round < 3; ++round)
    found += to_string(gradcheck(attend, {randn({2, 3, 4}, f64), randn({2, 5, 4}, f64)}));
  return found + std::to_string(values.steps().size());
}

TEST(Threads, TrainDecodeAndCheckGradientsConcurrently) {
  const int before = kernels::num_threads();
  kernels::set_num_threads(2);
  const std::function<std::string()> jobs[] = {train_under_a_profile, train_composed, decode_three_ways,
                                               check_gradients};
  constexpr size_t kJobs = std::size(jobs);
  std::string alone[kJobs], together[kJobs];
  for (size_t i = 0; i < kJobs; ++i) alone[i] = jobs[i]();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kJobs; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) {
        together[i] = jobs[i]();
        if (together[i] != alone[i]) break;
      }
    });
  for (std::thread& thread : threads) thread.join();
  kernels::set_num_threads(before);
  for (size_t i = 0; i < kJobs; ++i) EXPECT_TRUE(together[i] == alone[i]) << "job " << i;
  EXPECT_NE(train_some(1, 2), train_some(2, 2));
}

/// One model in evaluation mode, used by all threads.
TEST(Threads, ReadOneModelConcurrently) {
  manual_seed(5);
  models::Transformer model(shared_config());
  model.eval();
  const Tensor src = randint(1, 50, {6, 20}), tgt = randint(1, 50, {6, 12});
  const auto logits = [&] {
    const NoGrad no_grad;
    return bytes_of_all({model(src, tgt)});
  };
  const std::string expected = logits();
  std::string found[4];
  std::vector<std::thread> threads;
  for (std::string& mine : found)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) mine = logits();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& each : found) EXPECT_TRUE(each == expected);
}

}  // namespace
}  // namespace tape
