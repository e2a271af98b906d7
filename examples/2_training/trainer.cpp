// Trains a Transformer to reverse a row of digits with train::Trainer, which adds checkpoints, a log and evaluation.
// With the argument "resume" it continues from the newest checkpoint.
#include <tapeformer.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "reversed_digits.h"

constexpr int64_t length = 5, samples = 2048;

// The rows of digits with these indices. Sample n always has the same digits.
Batch make_batch(const std::vector<int64_t>& indices) {
  std::vector<int64_t> digits;
  for (const int64_t index : indices) {
    Generator generator(static_cast<uint64_t>(index));
    for (int64_t i = 0; i < length; ++i) digits.push_back(3 + generator.below(vocab - 3));
  }
  return with_reversed(from_vector(digits, {std::ssize(indices), length}));
}

int main(int argc, char** argv) {
  const bool resume = argc > 1 && std::string(argv[1]) == "resume";
  manual_seed(1);
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
  optim::NoamSchedule schedule(adam, {.d_model = 32, .warmup = 150});
  train::Loader<Batch> loader({.plan = train::shuffled_batches(samples, 64), .collate = make_batch});

  const Batch held_out = [] {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < 200; ++i) indices.push_back(samples + i);
    return make_batch(indices);
  }();
  const auto loss_of = [&](const Batch& batch) {
    return cross_entropy(model(batch.src, batch.tgt_in), batch.tgt_out, {.ignore_index = padding});
  };
  const auto learn = [&](const Batch& batch) -> train::BatchLoss { return {loss_of(batch), batch.tgt_out.numel()}; };
  const auto evaluate = [&]() -> train::Evaluation {
    const double share = static_cast<double>(count_reversed(model, held_out.src)) / 200;
    return {.loss = loss_of(held_out).item(), .metrics = {{"exact", share}}, .score = share};
  };

  train::Trainer trainer(model, adam,
                         {.out = "runs/backwards",
                          .start = resume ? train::Start::resume : train::Start::overwrite,
                          .steps = 600,
                          .schedule = &schedule,
                          .clip_norm = 1,
                          .evaluate_every = 150,
                          .average_last = 2,
                          .save_model = [&](const std::string& folder) { models::save(folder, model); }});
  const train::TrainResult result = trainer.fit(loader, learn, evaluate);

  const bool learned = result.evaluation->metrics.at("exact") > 0.95;
  std::cout << "stopped by: " << to_string(result.reason) << ", after " << result.step << " steps\n"
            << "newest checkpoint: " << std::filesystem::path(result.checkpoint).filename().string() << "\n"
            << "rows reversed without a mistake: " << (learned ? "more" : "fewer") << " than 190 of 200\n";
  return learned ? 0 : 1;
}
