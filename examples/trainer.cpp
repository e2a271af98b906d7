// Trains a Transformer to write a sequence of digits backwards, with the training loop of the library: checkpoints, a
// log and evaluation come with it. Started again with a first argument of "resume", it goes on where it was stopped.
#include <tapeformer.h>

#include <filesystem>
#include <iostream>
#include <string>

using namespace tape;

constexpr int64_t padding = 0, bos = 1, eos = 2, vocab = 13, length = 5, examples = 2048, batch_size = 64;

struct Batch {
  Tensor src, tgt_in, tgt_out;
};

// Rows of digits (ids 3 to 12) that follow from their numbers; the target is the row reversed.
Batch make_batch(const std::vector<int64_t>& numbers) {
  const auto rows = std::ssize(numbers);
  std::vector<int64_t> src, tgt_in, tgt_out;
  for (const int64_t number : numbers) {
    Generator draws(static_cast<uint64_t>(number));
    std::vector<int64_t> row;
    for (int64_t i = 0; i < length; ++i) row.push_back(3 + draws.below(vocab - 3));
    src.insert(src.end(), row.begin(), row.end());
    tgt_in.push_back(bos);
    tgt_in.insert(tgt_in.end(), row.rbegin(), row.rend());
    tgt_out.insert(tgt_out.end(), row.rbegin(), row.rend());
    tgt_out.push_back(eos);
  }
  return {from_vector(src, {rows, length}), from_vector(tgt_in, {rows, length + 1}),
          from_vector(tgt_out, {rows, length + 1})};
}

// The batches of an epoch: all examples, in an order of its own.
std::vector<std::vector<int64_t>> plan(int64_t epoch) {
  Generator draws(static_cast<uint64_t>(epoch));
  const std::vector<int64_t> order = randperm(examples, draws).to_vector<int64_t>();
  std::vector<std::vector<int64_t>> batches;
  for (int64_t at = 0; at < examples; at += batch_size)
    batches.emplace_back(order.begin() + at, order.begin() + at + batch_size);
  return batches;
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
  train::Loader<Batch> loader({.plan = plan, .collate = make_batch});

  const Batch held_out = [] {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < 200; ++i) numbers.push_back(examples + i);
    return make_batch(numbers);
  }();
  const auto loss_of = [&](const Batch& batch) {
    return cross_entropy(model(batch.src, batch.tgt_in), batch.tgt_out, {.ignore_index = padding});
  };
  const auto learn = [&](const Batch& batch) -> train::Learned { return {loss_of(batch), batch.tgt_out.numel()}; };
  const auto evaluate = [&]() -> train::Evaluation {
    const auto written = models::greedy_decode(model, held_out.src, {.bos = bos, .eos = eos, .max_length = length + 1});
    int64_t right = 0;
    for (int64_t row = 0; row < 200; ++row)
      right += written[static_cast<size_t>(row)] == flip(held_out.src[row], 0).to_vector<int64_t>();
    const double share = static_cast<double>(right) / 200;
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

  const bool learnt = result.evaluation->metrics.at("exact") > 0.95;
  std::cout << "stopped by: " << to_string(result.reason) << ", after " << result.step << " steps\n"
            << "newest checkpoint: " << std::filesystem::path(result.checkpoint).filename().string() << "\n"
            << "rows written backwards without a mistake: " << (learnt ? "more" : "fewer") << " than 190 of 200\n";
  return learnt ? 0 : 1;
}
