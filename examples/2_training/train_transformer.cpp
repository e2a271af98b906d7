// Trains the full encoder-decoder Transformer to reverse a row of digits, in a hand-written training loop.
#include <tapeformer.h>

#include <iostream>

#include "reversed_digits.h"

int main() {
  manual_seed(1);
  Generator generator(7);
  const auto make_batch = [&](int64_t rows) { return with_reversed(randint(3, vocab, {rows, 6}, generator)); };

  models::Transformer model({.src_vocab = vocab,
                             .tgt_vocab = vocab,
                             .d_model = 32,
                             .layers = 1,
                             .heads = 4,
                             .d_ff = 64,
                             .dropout = 0.0,
                             .max_length = 16,
                             .padding_id = padding});
  optim::Adam adam(model.parameters(), {.betas = {0.9, 0.98}, .eps = 1e-9});
  optim::NoamSchedule schedule(adam, {.d_model = 32, .warmup = 150, .factor = 0.5});

  for (int64_t step = 1; step <= 800; ++step) {
    const Batch batch = make_batch(64);
    Tensor loss =
        cross_entropy(model(batch.src, batch.tgt_in), batch.tgt_out, {.ignore_index = padding, .label_smoothing = 0.1});
    adam.zero_grad();
    loss.backward();
    optim::clip_grad_norm(model.parameters(), 1.0);
    adam.step();
    schedule.step();
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss.item() << "\n";
  }

  model.eval();
  const int64_t correct = count_reversed(model, make_batch(200).src);
  std::cout << correct << " of 200 rows reversed without a mistake\n";
  return correct >= 190 ? 0 : 1;
}
