// A run resumed with another number of threads must be bitwise equal to one that was never stopped.

#include <gtest/gtest.h>

#include <numeric>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/shape.h"
#include "models/decoders/gpt.h"
#include "optim/adam.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_task.h"
#include "train/memory/machine.h"
#include "train/trainer/trainer.h"

namespace tape::train {
namespace {

/// A model large enough to use threads, unlike TinyTask's: 8 x 48 tokens of width 64.
struct ThreadedTask {
  static Rows collate(const std::vector<int64_t>& indices) {
    Rows rows{.ids = {}, .rows = std::ssize(indices)};
    for (const int64_t index : indices) {
      Generator draws(static_cast<uint64_t>(index));
      for (int i = 0; i < 49; ++i) rows.ids.push_back(draws.below(50));
    }
    return rows;
  }

  ThreadedTask()
      : seeded((manual_seed(3), true)),
        model({.vocab = 50, .d_model = 64, .layers = 1, .heads = 4, .max_length = 48}),
        adam(model.parameters(), {.lr = 1e-2}),
        loader({.plan = TinyTask::plan, .collate = collate}) {}

  void run(const std::string& out, int64_t steps, int threads, MatmulPrecision precision) {
    set_threads(threads);
    Trainer trainer(
        model, adam,
        {.out = out, .start = Start::resume, .steps = steps, .clip_norm = 1, .precision = precision, .seed = 11});
    trainer.fit(loader, [this](const Rows& rows) -> BatchLoss {
      const Tensor ids = from_vector(rows.ids, {rows.rows, 49});
      const Tensor logits = model(slice(ids, 1, {.start = 0, .end = 48}));
      return {cross_entropy(logits, slice(ids, 1, {.start = 1, .end = 49})), rows.rows * 48};
    });
  }

  bool seeded;
  models::Gpt model;
  optim::Adam adam;
  Loader<Rows> loader;
};

class ResumeWithThreads : public testing::TestWithParam<MatmulPrecision> {
 protected:
  ~ResumeWithThreads() override { set_threads(before_); }

 private:
  const int before_ = machine().threads;
};

TEST_P(ResumeWithThreads, IsBitwiseExact) {
  const TemporaryFolder folder;
  ThreadedTask whole;
  whole.run(folder / "whole", 9, 1, GetParam());
  const std::string expected = bytes_of_state(whole.model.state_dict());
  for (const auto& [first, second, third] : {std::array{1, 2, 4}, std::array{4, 1, 2}}) {
    const std::string out = folder / ("parts" + std::to_string(first));
    ThreadedTask().run(out, 3, first, GetParam());
    ThreadedTask().run(out, 6, second, GetParam());
    ThreadedTask last;
    last.run(out, 9, third, GetParam());
    EXPECT_TRUE(bytes_of_state(last.model.state_dict()) == expected) << first << ", " << second << ", " << third;
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, ResumeWithThreads,
                         testing::Values(MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium),
                         [](const auto& precision) { return std::string(to_string(precision.param)); });

}  // namespace
}  // namespace tape::train
