// Trains the full encoder-decoder Transformer to write a sequence of digits backwards.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

constexpr int64_t padding = 0, bos = 1, eos = 2, vocab = 13, length = 6;

struct Batch {
  Tensor src, tgt_in, tgt_out;
};

// Rows of random digits (ids 3 to 12); the target is the row reversed, with its start and end marked.
Batch make_batch(int64_t size, Generator& draws) {
  const Tensor src = randint(3, vocab, {size, length}, draws), reversed = flip(src, 1);
  return {src, cat({full({size, 1}, bos, i64), reversed}, 1), cat({reversed, full({size, 1}, eos, i64)}, 1)};
}

int main() {
  manual_seed(1);
  Generator draws(7);
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
    const Batch batch = make_batch(64, draws);
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
  const Batch batch = make_batch(200, draws);
  const auto written = models::greedy_decode(model, batch.src, {.bos = bos, .eos = eos, .max_length = length + 1});
  int64_t right = 0;
  for (int64_t row = 0; row < 200; ++row)
    right += written[static_cast<size_t>(row)] == flip(batch.src[row], 0).to_vector<int64_t>();
  std::cout << right << " of 200 rows written backwards without a mistake\n";
  return right >= 190 ? 0 : 1;
}
