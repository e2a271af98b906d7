// What warm-up is for: at a high learning rate a Transformer with its norms behind the sums (post-LN) learns when the
// rate rises slowly at first, and hardly anything when it does not. With norms in front (pre-LN) it learns without
// (Xiong et al. 2020, "On layer normalization in the Transformer architecture").
#include <tapeformer.h>

#include <fmt/core.h>

using namespace tape;

constexpr int64_t padding = 0, bos = 1, vocab = 13, length = 6, steps = 300;

struct Batch {
  Tensor src, tgt_in, tgt_out;
};

// Rows of random digits (ids 3 to 12); the target is the row reversed.
Batch make_batch(int64_t size, Generator& draws) {
  const Tensor src = randint(3, vocab, {size, length}, draws), reversed = flip(src, 1);
  return {src, cat({full({size, 1}, bos, i64), slice(reversed, 1, {.end = length - 1})}, 1), reversed};
}

// The mean loss of the last 20 steps. The rate rises to 0.01 in the first `warmup` steps and falls to 0 in the others.
double loss_after_training(nn::NormPlace norm, int64_t warmup) {
  manual_seed(1);
  Generator draws(7);
  models::Transformer model({.src_vocab = vocab,
                             .tgt_vocab = vocab,
                             .d_model = 32,
                             .layers = 4,
                             .heads = 4,
                             .d_ff = 64,
                             .dropout = 0.0,
                             .norm = norm,
                             .max_length = 16,
                             .padding_id = padding});
  optim::Adam adam(model.parameters(), {.lr = 0.01, .betas = {0.9, 0.98}, .eps = 1e-9});
  optim::LinearSchedule schedule(adam, {.warmup = warmup, .total = steps});
  double last = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    const Batch batch = make_batch(32, draws);
    const Tensor loss = cross_entropy(model(batch.src, batch.tgt_in), batch.tgt_out);
    adam.zero_grad();
    loss.backward();
    adam.step();
    schedule.step();
    if (step > steps - 20) last += loss.item() / 20;
  }
  return last;
}

bool show(const char* norms, nn::NormPlace norm, int64_t warmup, bool learns) {
  const double loss = loss_after_training(norm, warmup);
  const bool low = loss<0.7, high = loss> 1.4;
  fmt::print("{:14} {:>9}   {}\n", norms, warmup, low ? "below 0.7" : high ? "above 1.4" : "in between");
  return learns ? low : high;
}

int main() {
  fmt::print("loss a digit after {} steps; guessing costs log 10 = 2.3\n", steps);
  fmt::print("{:14} {:>9}   {}\n", "norms", "warm-up", "loss");
  const bool post = show("behind (post)", nn::NormPlace::post, 0, false);
  const bool warm = show("behind (post)", nn::NormPlace::post, 100, true);
  const bool pre = show("in front (pre)", nn::NormPlace::pre, 0, true);
  return post && warm && pre ? 0 : 1;
}
