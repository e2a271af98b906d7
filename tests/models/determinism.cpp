// Training is a function of the seed alone, not of the number of threads.

#include <gmock/gmock.h>
#include <cstring>

#include "autograd/create.h"
#include "autograd/kernels/threads.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/shape.h"
#include "models/transformer.h"
#include "optim/adam.h"
#include "optim/schedule.h"

namespace tape::models {
namespace {

/// The weights after ten steps with dropout: sizes at which products, attention and element-wise kernels use more than
/// one thread where they ever do.
Tensors train(uint64_t seed) {
  manual_seed(seed);
  Transformer model({.src_vocab = 200,
                     .tgt_vocab = 200,
                     .d_model = 64,
                     .layers = 1,
                     .heads = 4,
                     .d_ff = 256,
                     .dropout = 0.2,
                     .max_length = 32});
  optim::Adam adam(model.parameters(), {.betas = {0.9, 0.98}, .eps = 1e-9});
  optim::NoamSchedule schedule(adam, {.d_model = 64, .warmup = 5});
  Generator data(99);
  for (int step = 0; step < 10; ++step) {
    const Tensor src = randint(0, 200, {8, 16}, data), tgt = randint(0, 200, {8, 17}, data);
    const Tensor logits = model(src, slice(tgt, 1, {.start = 0, .end = 16}));
    adam.zero_grad();
    cross_entropy(logits, slice(tgt, 1, {.start = 1, .end = 17}), {.ignore_index = 0, .label_smoothing = 0.1})
        .backward();
    adam.step();
    schedule.step();
  }
  return model.parameters();
}

bool same_bits(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a[i].raw(), b[i].raw(), static_cast<size_t>(a[i].numel() * size_of(a[i].dtype()))) != 0)
      return false;
  return true;
}

class Threads {
 public:
  explicit Threads(int count) : before_(kernels::num_threads()) { kernels::set_num_threads(count); }
  ~Threads() { kernels::set_num_threads(before_); }

 private:
  int before_;
};

TEST(Determinism, WeightsAreAFunctionOfTheSeedAlone) {
  const auto with = [](int count, uint64_t seed) {
    const Threads threads(count);
    return train(seed);
  };
  const Tensors weights = with(2, 7);
  EXPECT_TRUE(same_bits(weights, with(2, 7))) << "a second run";
  EXPECT_TRUE(same_bits(weights, with(1, 7))) << "one thread";
  EXPECT_FALSE(same_bits(weights, with(1, 8))) << "another seed";
}

}  // namespace
}  // namespace tape::models
