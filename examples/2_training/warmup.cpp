// Why learning rates warm up: at a high rate a post-LN Transformer (norms after the residual sums) learns only if the
// rate rises slowly at first. A pre-LN Transformer (norms before each sublayer) also learns without warm-up
// (Xiong et al. 2020, "On layer normalization in the Transformer architecture").
#include <tapeformer.h>

#include <fmt/core.h>

#include "reversed_digits.h"

constexpr int64_t steps = 300;

// Mean loss of the last 20 steps. The rate rises to 0.01 over `warmup` steps, then falls linearly to 0.
double loss_after_training(nn::NormPlace norm, int64_t warmup) {
  manual_seed(1);
  Generator generator(7);
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
    const Batch batch = with_reversed(randint(3, vocab, {32, 6}, generator));
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
  fmt::print("{:8} {:>7}   {}\n", norms, warmup, low ? "below 0.7" : high ? "above 1.4" : "in between");
  return learns ? low : high;
}

int main() {
  fmt::print("loss per token after {} steps; always guessing costs 2.0\n", steps);
  fmt::print("{:8} {:>7}   {}\n", "norms", "warm-up", "loss");
  const bool post = show("post-LN", nn::NormPlace::post, 0, false);
  const bool warm = show("post-LN", nn::NormPlace::post, 100, true);
  const bool pre = show("pre-LN", nn::NormPlace::pre, 0, true);
  return post && warm && pre ? 0 : 1;
}
