#include "train/trainer/trainer.h"

#include <sstream>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/ops.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"
#include "tests/train/one_thread.h"
#include "tests/train/run_log.h"
#include "tests/train/tiny_task.h"

// The training loop on several ranks, each in a thread.

namespace tape::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A non-owning shared_ptr to a test's Communicator, for the options.
std::shared_ptr<Communicator> shared(Communicator& ranks) { return {std::shared_ptr<void>(), &ranks}; }

struct SharedRun {
  std::vector<double> losses, norms;
  std::string weights;  // as bytes
  TrainResult result;
};

/// Trains the tiny task on this many ranks; returns what rank 0 saw.
SharedRun run_tiny(int size, const TrainerOptions& options, double dropout = 0) {
  SharedRun first;
  run_ranks(size, [&](Communicator& ranks) {
    TinyTask task(dropout);
    SharedRun run;
    TrainerOptions own = options;
    own.ranks = shared(ranks);
    if (ranks.is_root())
      own.callbacks.on_step = [&](const StepEvent& event) {
        run.losses.push_back(event.loss);
        run.norms.push_back(event.grad_norm);
      };
    run.result = task.fit(own);
    run.weights = bytes_of_state(task.model.state_dict());
    const std::vector<std::string> all = all_gather(ranks, run.weights);
    EXPECT_THAT(all, testing::Each(run.weights)) << "all ranks end with the same model";
    EXPECT_EQ(run.result.step, all_gather(ranks, run.result.step).front());
    if (ranks.is_root()) first = std::move(run);
  });
  return first;
}

class SharedTrainerTest : public testing::Test {
 protected:
  const OneThread one_thread_;
  const TemporaryFolder folder_;
};

void expect_losses_near(const SharedRun& got, const SharedRun& wanted, double tolerance, const std::string& what) {
  ASSERT_EQ(got.losses.size(), wanted.losses.size()) << what;
  for (size_t i = 0; i < got.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], wanted.losses[i], tolerance) << what << ", step " << i + 1;
    EXPECT_NEAR(got.norms[i], wanted.norms[i], 10 * tolerance) << what << ", step " << i + 1;
  }
}

TEST_F(SharedTrainerTest, HasTheLossesOfASingleProcessWithinRounding) {
  const TrainerOptions plain{.steps = 30, .clip_norm = 1, .evaluate_every = 15},
      often{.steps = 12, .clip_norm = 1, .accumulate = 3};
  for (const TrainerOptions& options : {plain, often}) {
    const SharedRun alone = run_tiny(1, options);
    EXPECT_EQ(alone.losses.size(), static_cast<size_t>(options.steps));
    for (const int size : {2, 3, 4, 9})  // 9: batches of 8 leave one rank without examples
      for (const Sharding sharding : {Sharding::none, Sharding::optimizer, Sharding::gradients, Sharding::parameters}) {
        TrainerOptions own = options;
        own.distributed = {.bucket_bytes = 3000, .sharding = sharding};
        expect_losses_near(run_tiny(size, own), alone, 2e-4,
                           fmt::format("{} ranks, ZeRO {}", size, static_cast<int>(sharding)));
      }
  }
}

TEST_F(SharedTrainerTest, IsBitwiseReproducibleWithDropout) {
  for (const int size : {1, 2, 3}) {
    const TrainerOptions options{.steps = 10, .clip_norm = 1};
    const SharedRun once = run_tiny(size, options, 0.2), again = run_tiny(size, options, 0.2);
    EXPECT_EQ(again.losses, once.losses);
    EXPECT_EQ(again.weights, once.weights);
    const SharedRun without = run_tiny(size, options, 0);
    EXPECT_NE(without.losses, once.losses) << "dropout has an effect";
  }
}

TEST_F(SharedTrainerTest, UsesDifferentDropoutMasksOnEachRank) {
  std::vector<std::vector<float>> kept(3);
  run_ranks(3, [&](Communicator& ranks) {
    TinyTask task(0.5);
    Trainer trainer(task.model, task.adam, {.ranks = shared(ranks), .steps = 1});
    trainer.fit(task.loader, [&](const Rows& rows) {
      kept[static_cast<size_t>(ranks.rank())] = dropout(ones({64}), 0.5).to_vector<float>();
      return task.learn(rows);
    });
  });
  EXPECT_NE(kept[0], kept[1]);
  EXPECT_NE(kept[1], kept[2]);
  EXPECT_NE(kept[0], kept[2]);
}

TEST_F(SharedTrainerTest, ResumesBitwiseExactlyWithTheSameNumberOfRanks) {
  for (const Sharding sharding : {Sharding::none, Sharding::optimizer, Sharding::gradients, Sharding::parameters}) {
    const std::string name = fmt::format("run-{}", static_cast<int>(sharding));
    const DistributedOptions distributed{.bucket_bytes = 3000, .sharding = sharding};
    TrainerOptions options{
        .distributed = distributed, .out = folder_ / (name + "-whole"), .steps = 12, .accumulate = 2};
    const auto whole = run_tiny(2, options, 0.2);
    options.out = folder_ / name, options.steps = 7;
    run_tiny(2, options, 0.2);
    options.start = Start::resume, options.steps = 12;
    const auto rest = run_tiny(2, options, 0.2);
    EXPECT_EQ(rest.result.resumed_from, 7);
    EXPECT_TRUE(rest.result.warnings.empty()) << rest.result.warnings.front();
    EXPECT_EQ(rest.weights, whole.weights);
    ASSERT_EQ(rest.losses.size(), 5U);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(rest.losses[i], whole.losses[i + 7]);
  }
}

TEST_F(SharedTrainerTest, GivesUpAStepOnAllRanksIfOneIsInterrupted) {
  for (const Sharding sharding : {Sharding::none, Sharding::optimizer, Sharding::gradients, Sharding::parameters}) {
    for (const int64_t batches : {1, 7}) {  // in the first step and in the third one
      const std::string name = fmt::format("run-{}-{}", static_cast<int>(sharding), batches);
      const TrainerOptions options{.distributed = {.bucket_bytes = 3000, .sharding = sharding},
                                   .out = folder_ / name,
                                   .start = Start::resume,
                                   .steps = 5,
                                   .accumulate = 3};
      TrainerOptions whole = options;
      whole.out += "-whole";
      run_ranks(2, [&](Communicator& ranks) {
        TinyTask task(0.2);
        TrainerOptions stopped = options;
        stopped.ranks = shared(ranks);
        stopped.interrupted = [&, asked = int64_t{0}]() mutable { return ++asked == batches + 1 && ranks.rank() == 1; };
        const TrainResult result = task.fit(stopped);
        EXPECT_EQ(result.reason, StopReason::interrupted);
        EXPECT_EQ(result.step, batches / 3);
      });
      EXPECT_EQ(run_tiny(2, options, 0.2).weights, run_tiny(2, whole, 0.2).weights) << name;
    }
  }
}

TEST_F(SharedTrainerTest, ResumesWithAnotherNumberOfRanksWithinRounding) {
  const auto whole = run_tiny(1, {.steps = 14});
  run_tiny(4, {.distributed = {.sharding = Sharding::gradients}, .out = folder_ / "run", .steps = 5});
  const auto two = run_tiny(2, {.out = folder_ / "run", .start = Start::resume, .steps = 9});
  EXPECT_THAT(two.result.warnings, ElementsAre(HasSubstr("ranks 4 then, 2 now")));
  const auto one = run_tiny(1, {.out = folder_ / "run", .start = Start::resume, .steps = 14});
  EXPECT_EQ(one.result.resumed_from, 9);
  ASSERT_EQ(one.losses.size(), 5U);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(one.losses[i], whole.losses[i + 9], 2e-4);
}

TEST_F(SharedTrainerTest, OnlyRank0WritesAndPrints) {
  int spoke = 0;
  run_ranks(3, [&](Communicator& ranks) {
    TinyTask task(0);
    std::ostringstream shown;
    task.fit({.ranks = shared(ranks),
              .out = folder_ / "run",
              .steps = 4,
              .evaluate_every = 2,
              .progress = &shown,
              .callbacks = {.on_evaluation = [&](int64_t, const Evaluation&) { ++spoke; }}});
    EXPECT_EQ(shown.str().empty(), !ranks.is_root());
  });
  EXPECT_EQ(spoke, 2);
  EXPECT_EQ(events_of(folder_ / "run", "step").size(), 4U);
  EXPECT_EQ(events_of(folder_ / "run", "start").size(), 1U);
  EXPECT_THAT(checkpoint_steps(folder_ / "run"), ElementsAre(2, 4));
}

TEST_F(SharedTrainerTest, StopsAllRanksIfOneIsInterrupted) {
  run_ranks(3, [&](Communicator& ranks) {
    TinyTask task(0);
    int asked = 0;
    const TrainResult result =
        task.fit({.ranks = shared(ranks), .out = folder_ / "run", .steps = 100, .interrupted = [&] {
                    return ++asked == 6 && ranks.rank() == 2;
                  }});
    EXPECT_EQ(result.reason, StopReason::interrupted);
    EXPECT_EQ(result.step, 5);
    EXPECT_EQ(result.checkpoint, folder_ / "run/checkpoint-5");
  });
  EXPECT_THAT(checkpoint_steps(folder_ / "run"), ElementsAre(5));
}

TEST_F(SharedTrainerTest, NamesOnAllRanksTheOneWithANonFiniteLoss) {
  run_ranks(3, [&](Communicator& ranks) {
    TinyTask task(0);
    int batches = 0;
    const auto learn = [&](const Rows& rows) {
      BatchLoss learned = task.learn(rows);
      if (++batches >= 2 && ranks.rank() == 1) learned.loss = log(learned.loss * 0.0 - 1.0);
      return learned;
    };
    Trainer trainer(task.model, task.adam, {.ranks = shared(ranks), .steps = 4});
    try {
      trainer.fit(task.loader, learn);
      ADD_FAILURE() << "no error was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::numeric);
      EXPECT_THAT(error.what(), HasSubstr("step 2, epoch 0, batch 1: the loss is NaN: rank 1: "));
      EXPECT_THAT(error.what(), HasSubstr("log: produced NaN"));
    }
    EXPECT_EQ(task.adam.state_dict().at("0.step").item(), 1) << "nothing was updated";
  });
}

TEST_F(SharedTrainerTest, RefusesRanksWithDifferentSettings) {
  run_ranks(3, [](Communicator& ranks) {
    TinyTask task(0);
    EXPECT_TAPE_ERROR(task.fit({.ranks = shared(ranks),
                                .steps = 4,
                                .clip_norm = ranks.rank() == 2 ? 2.0 : 1.0,
                                .settings_json = ranks.rank() == 2 ? R"({"lr": 2})" : R"({"lr": 1})"}),
                      ErrorKind::config,
                      "Trainer: the ranks have different settings: clip_norm 1.0 on rank 0, 2.0 on rank 2; lr 1 on "
                      "rank 0, 2 on rank 2");
  });
}

/// One rank would evaluate while the other waits for its gradients.
TEST_F(SharedTrainerTest, RefusesRanksThatWouldDeadlock) {
  run_ranks(2, [](Communicator& ranks) {
    TinyTask task(0);
    const int64_t more = ranks.rank();
    EXPECT_TAPE_ERROR(
        task.fit({.ranks = shared(ranks), .steps = 4 + more, .evaluate_every = 2 + more, .checkpoint_every = 4}),
        ErrorKind::config,
        "Trainer: the ranks have different settings: steps 4 on rank 0, 5 on rank 1; evaluate_every 2 on rank 0, 3 on "
        "rank "
        "1");
    TrainerOptions options{.ranks = shared(ranks), .steps = 4};
    if (ranks.rank() == 1) {
      options.parts = 2;
      options.interrupted = [] { return false; };
      options.distributed = {.bucket_bytes = 100, .bf16 = true, .sharding = Sharding::optimizer};
    }
    EXPECT_TAPE_ERROR(task.fit(options), ErrorKind::config,
                      "Trainer: the ranks have different settings: parts 1 on rank 0, 2 on rank 1; interrupted not set "
                      "on rank 0, set on rank 1; sharding (ZeRO) 0 on rank 0, 1 on rank 1; bf16 false on rank 0, true "
                      "on rank 1; bucket_bytes 26214400 on rank 0, 100 on rank 1");
  });
}

TEST_F(SharedTrainerTest, RefusesAMovingAverageOfShardedParameters) {
  run_ranks(2, [](Communicator& ranks) {
    TinyTask task(0);
    EXPECT_TAPE_ERROR(
        task.fit(
            {.ranks = shared(ranks), .distributed = {.sharding = Sharding::parameters}, .steps = 2, .ema_decay = 0.9}),
        ErrorKind::config,
        "Trainer: ema_decay 0.9 needs a second copy of all parameters on every rank, but the ranks shard them "
        "(Sharding::parameters)");
  });
}

TEST_F(SharedTrainerTest, EndsIfTheWritingRankFails) {
  const auto train = [&] {
    run_ranks(2, [&](Communicator& ranks) {
      TinyTask task(0);
      task.fit({.ranks = shared(ranks), .out = folder_ / "run", .steps = 4, .checkpoint_files = [](const std::string&) {
                  raise(ErrorKind::io, "the disk is full");
                }});
    });
  };
  EXPECT_TAPE_ERROR(train(), ErrorKind::io, "the disk is full");
}

}  // namespace
}  // namespace tape::train
