// The built-in tasks on several processes: losses and scores match a single process within rounding and are bitwise
// reproducible.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/mpi/ranks.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "tests/train/run_log.h"
#include "text/corpus/number_words.h"
#include "train/tasks/classification.h"
#include "train/tasks/language_model.h"
#include "train/tasks/translation.h"

namespace tape::train {
namespace {

std::vector<double> logged(const std::string& run, const char* event, const char* value) {
  std::vector<double> values;
  for (const auto& line : events_of(run, event)) values.push_back(line[value].get<double>());
  return values;
}

/// Rank 0's folder, which all processes can see.
class MpiTraining : public testing::Test {
 protected:
  MpiTraining() : ranks_(ranks_or_single(world().ranks())), folder_(broadcast(ranks_, own_ / "")) {}
  ~MpiTraining() override { barrier(ranks_); }

  void write(const std::string& name, const std::string& text) const {
    if (ranks_.is_root()) std::ofstream(folder_ + name) << text;
    barrier(ranks_);
  }
  TaskOptions run(const std::string& name, bool together, Sharding sharding = Sharding::none) const {
    return {.out = folder_ + name,
            .steps = kSteps,
            .dropout = 0,
            .evaluate_every = kSteps / 2,
            .average_last = 0,
            .ranks = together ? world().ranks() : nullptr,
            .distributed = {.bucket_bytes = 100'000, .sharding = sharding}};
  }
  /// Trains in a single process on rank 0, twice on all ranks, and then with sharded gradients and optimizer state, and
  /// with sharded parameters.
  template <class Train>
  void compare(Train&& train, double tolerance) {
    if (ranks_.is_root()) train(run("alone", false));
    train(run("together", true));
    train(run("again", true));
    train(run("sharded", true, Sharding::gradients));
    train(run("spread", true, Sharding::parameters));
    if (!ranks_.is_root()) return;
    for (const auto& [event, value] : {std::pair("step", "loss"), {"step", "grad_norm"}, {"eval", "loss"}}) {
      const std::vector<double> alone = logged(folder_ + "alone", event, value),
                                together = logged(folder_ + "together", event, value),
                                sharded = logged(folder_ + "sharded", event, value),
                                spread = logged(folder_ + "spread", event, value);
      EXPECT_EQ(alone.size(), event == std::string("step") ? kSteps : 2U);
      EXPECT_THAT(together, testing::Pointwise(testing::DoubleNear(tolerance), alone)) << event << " " << value;
      EXPECT_THAT(sharded, testing::Pointwise(testing::DoubleNear(tolerance), alone)) << event << " " << value;
      EXPECT_THAT(spread, testing::Pointwise(testing::DoubleNear(tolerance), alone)) << event << " " << value;
      EXPECT_EQ(logged(folder_ + "again", event, value), together) << "bitwise equal from run to run";
    }
  }

  static constexpr size_t kSteps = 4;
  const OneThread one_thread_;
  const TemporaryFolder own_;
  Communicator& ranks_;
  const std::string folder_;
  std::ostringstream said_;
};

TEST_F(MpiTraining, TranslationMatchesASingleProcess) {
  std::string train_text, valid_text;
  for (int64_t n = 0; n < 300; ++n)
    (n < 270 ? train_text : valid_text) += fmt::format("{}\t{}\n", text::german_number(n), text::english_number(n));
  write("train.tsv", train_text);
  write("valid.tsv", valid_text);
  compare(
      [&](const TaskOptions& run) {
        const TranslationOptions options{.run = run,
                                         .train = {.tsv = folder_ + "train.tsv"},
                                         .valid = {.tsv = folder_ + "valid.tsv"},
                                         .layers = 1,
                                         .width = 32,
                                         .heads = 2,
                                         .vocab_size = 120,
                                         .batch_tokens = 300};
        train_translation(options, said_, TerminalInfo());
      },
      2e-3);
}

TEST_F(MpiTraining, LanguageModelMatchesASingleProcess) {
  std::string text;
  for (int64_t n = 0; n < 400; ++n) text += text::english_number(n) + "\n";
  write("text.txt", text);
  compare(
      [&](const TaskOptions& run) {
        LanguageModelOptions options{.run = run, .text = folder_ + "text.txt"};
        options.context = 16;
        options.batch = 7;
        options.layers = 1;
        options.width = 32;
        options.heads = 2;
        train_language_model(options, said_, TerminalInfo());
      },
      2e-3);
}

TEST_F(MpiTraining, ClassificationMatchesASingleProcess) {
  std::string lines;
  for (int64_t n = 0; n < 200; ++n) lines += fmt::format("{}\t{}\n", text::english_number(n), n % 2 ? "odd" : "even");
  write("lines.tsv", lines);
  compare(
      [&](const TaskOptions& run) {
        ClassificationOptions options{.run = run, .data = folder_ + "lines.tsv"};
        options.layers = 1;
        options.width = 32;
        options.heads = 2;
        options.batch = 9;
        options.vocab_size = 300;
        train_classification(options, said_, TerminalInfo());
      },
      2e-3);
}

/// Its norm outputs are large enough to be recomputed in the backward, but with sharded parameters their weights have
/// been dropped by then, so the outputs must be saved.
TEST_F(MpiTraining, ShardedParametersLearnFromLargeBatches) {
  const int64_t examples = 1200 * ranks_.size();
  std::string lines;
  for (int64_t n = 0; n < examples + 20; ++n)
    lines += fmt::format("{}\t{}\n", text::english_number(700'000 + n), n % 2 ? "odd" : "even");
  write("lines.tsv", lines);
  for (const Sharding sharding : {Sharding::none, Sharding::parameters}) {
    TaskOptions of_run = run(sharding == Sharding::none ? "whole" : "spread", true, sharding);
    of_run.steps = of_run.evaluate_every = 1;
    ClassificationOptions options{.run = of_run, .data = folder_ + "lines.tsv"};
    options.layers = 1;
    options.width = 128;
    options.heads = 2;
    options.batch = examples;
    options.vocab_size = 300;
    train_classification(options, said_, TerminalInfo());
  }
  if (!ranks_.is_root()) return;
  EXPECT_THAT(logged(folder_ + "spread", "step", "grad_norm"),
              testing::Pointwise(testing::DoubleNear(2e-3), logged(folder_ + "whole", "step", "grad_norm")));
}

}  // namespace
}  // namespace tape::train
