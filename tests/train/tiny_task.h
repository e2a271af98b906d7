#pragma once

#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "models/decoders/gpt.h"
#include "optim/adam.h"
#include "optim/schedule.h"
#include "train/checkpoints/checkpoint.h"
#include "train/trainer/trainer.h"

// A task that a tiny model learns in seconds, for the tests of the training loop.

namespace tape::train {

struct Rows {
  std::vector<int64_t> ids;
  int64_t rows = 0;
};

/// Sequences of three random tokens, a separator, and the same three again: tokens after the separator are predictable.
struct TinyTask {
  static constexpr int64_t vocab = 8, length = 7, examples = 40, batch = 8;  // 5 batches per epoch

  static std::vector<int64_t> example(int64_t index) {
    Generator draws(static_cast<uint64_t>(1000 + index));
    std::vector<int64_t> ids(length, 1);
    for (size_t i = 0; i < 3; ++i) ids[i] = ids[i + 4] = 2 + draws.below(vocab - 2);
    return ids;
  }
  static std::vector<std::vector<int64_t>> plan(int64_t epoch) {
    Generator draws(static_cast<uint64_t>(7 + epoch));
    const std::vector<int64_t> order = randperm(examples, draws).to_vector<int64_t>();
    std::vector<std::vector<int64_t>> batches;
    for (int64_t at = 0; at < examples; at += batch)
      batches.emplace_back(order.begin() + at, order.begin() + at + batch);
    return batches;
  }
  static Rows collate(const std::vector<int64_t>& indices) {
    Rows rows{.ids = {}, .rows = std::ssize(indices)};
    for (const int64_t index : indices)
      for (const int64_t id : example(index)) rows.ids.push_back(id);
    return rows;
  }
  static models::GptConfig config(double dropout) {
    return {.vocab = vocab,
            .d_model = 16,
            .layers = 1,
            .heads = 2,
            .max_length = length,
            .dropout = dropout,
            .attention_dropout = dropout,
            .embedding_dropout = dropout};
  }

  explicit TinyTask(double dropout = 0.1, uint64_t seed = 3, int64_t prefetch = 2)
      : seeded((manual_seed(seed), true)),
        model(config(dropout)),
        adam(model.parameters(), {.lr = 1e-2}),
        schedule(adam, {.warmup = 4}),
        loader({.plan = plan, .collate = collate, .prefetch = prefetch}) {}

  BatchLoss learn(const Rows& rows) {
    const Tensor ids = from_vector(rows.ids, {rows.rows, length});
    const Tensor logits = model(slice(ids, 1, {.start = 0, .end = length - 1}));
    return {cross_entropy(logits, slice(ids, 1, {.start = 1, .end = length})), rows.rows * (length - 1)};
  }
  /// On unseen examples.
  Evaluation evaluate() {
    std::vector<int64_t> indices(16);
    std::iota(indices.begin(), indices.end(), examples);
    const double loss = learn(collate(indices)).loss.item();
    return {.loss = loss, .metrics = {{"negative", -loss}}};
  }
  TrainResult fit(TrainerOptions options, bool evaluating = true) {
    options.schedule = &schedule;
    Trainer trainer(model, adam, std::move(options));
    const auto learning = [this](const Rows& rows) { return learn(rows); };
    if (!evaluating) return trainer.fit(loader, learning);
    return trainer.fit(loader, learning, [this] { return evaluate(); });
  }

  bool seeded;  // before the parameters are drawn
  models::Gpt model;
  optim::Adam adam;
  optim::InverseSqrtSchedule schedule;
  Loader<Rows> loader;
};

/// The bytes of all tensors, with their names.
inline std::string bytes_of_state(const std::map<std::string, Tensor>& state) {
  std::string bytes;
  for (const auto& [name, tensor] : state)
    bytes.append(name).append(static_cast<const char*>(tensor.raw()),
                              static_cast<size_t>(tensor.numel() * size_of(tensor.dtype())));
  return bytes;
}

}  // namespace tape::train
