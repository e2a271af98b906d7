// A run that is stopped and resumed must be bitwise equal to one that was never stopped.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/emulated_tiles.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "tests/train/run_log.h"
#include "tests/train/tiny_task.h"
#include "train/checkpoints/manifest.h"
#include "train/memory/machine.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kAccumulated = 3;

/// Combines dropout, accumulation over 3 batches with 5 per epoch, a moving average, an average of checkpoints, and
/// evaluations at steps that are not multiples of the checkpoints' steps.
TrainerOptions everything(const std::string& out, int64_t steps) {
  return {.out = out,
          .start = Start::resume,
          .steps = steps,
          .clip_norm = 1,
          .accumulate = kAccumulated,
          .evaluate_every = 4,
          .checkpoint_every = 3,
          .keep_last = 2,
          .ema_decay = 0.9,
          .average_last = 3,
          .seed = 11};
}

/// What must be equal: the final model, and the contents of its last checkpoint.
struct Ending {
  std::string model, trained, optimizer, average;
  std::string random = {};
  DataPosition data;
  std::vector<ScoredStep> best;
  std::vector<int64_t> planned;
  double loss_average = 0;
  bool operator==(const Ending&) const = default;
};

Ending ending_of(const TinyTask& task, const std::string& folder) {
  const Checkpoint last = load_checkpoint(folder);
  Ending ending{.model = bytes_of_state(task.model.state_dict()),
                .trained = bytes_of_state(last.model),
                .optimizer = bytes_of_state(last.optimizer),
                .average = bytes_of_state(last.average),
                .data = last.state.data,
                .best = last.state.best,
                .planned = last.state.planned,
                .loss_average = last.state.loss_average};
  for (const Generator& stream : last.state.random)
    ending.random += fmt::format("{} {};", stream.seed(), stream.counter());
  return ending;
}

std::vector<int64_t> logged_steps(const std::string& run) {
  std::vector<int64_t> steps;
  for (const auto& event : events_of(run, "step")) steps.push_back(event["step"]);
  return steps;
}

std::vector<int64_t> up_to(int64_t count) {
  std::vector<int64_t> steps(static_cast<size_t>(count));
  std::iota(steps.begin(), steps.end(), 1);
  return steps;
}

class Resume : public testing::Test {
 protected:
  Ending undisturbed(int64_t steps) {
    TinyTask task;
    const TrainResult result = task.fit(everything(folder_ / "undisturbed", steps));
    return ending_of(task, result.checkpoint);
  }

  const OneThread one_thread_;
  const TemporaryFolder folder_;
};

TEST_F(Resume, IsBitwiseExactAfterAStopAtAnyBatch) {
  constexpr int64_t steps = 10;
  const Ending expected = undisturbed(steps);
  for (int64_t batches = 0; batches <= steps * kAccumulated; ++batches) {
    const int64_t stop = batches / kAccumulated;
    const std::string run = folder_ / fmt::format("stop-{}", batches);
    {
      TinyTask task;
      TrainerOptions options = everything(run, steps);
      int64_t asked = 0;
      options.interrupted = [&] { return ++asked > batches; };
      ASSERT_EQ(task.fit(options).step, stop);
    }
    TinyTask task(0.1, 99, 0);  // other initial weights, another random state, no thread
    const TrainResult result = task.fit(everything(run, steps));
    EXPECT_EQ(result.resumed_from, stop);
    EXPECT_TRUE(ending_of(task, result.checkpoint) == expected) << "stopped after batch " << batches;
    EXPECT_EQ(logged_steps(run), up_to(steps)) << "stopped after batch " << batches;
  }
}

TEST_F(Resume, IsBitwiseExactAfterAStopAtEveryStep) {
  constexpr int64_t steps = 9;
  const Ending expected = undisturbed(steps);
  TrainResult result;
  for (int64_t stop = 0; stop <= steps; ++stop) {
    TinyTask task;
    TrainerOptions options = everything(folder_ / "run", steps);
    int asked = 0;
    if (stop < steps) options.interrupted = [&] { return ++asked > kAccumulated + 1; };
    result = task.fit(options);
    if (result.reason != StopReason::steps) continue;
    EXPECT_TRUE(ending_of(task, result.checkpoint) == expected);
  }
  EXPECT_EQ(result.reason, StopReason::steps);
  EXPECT_EQ(logged_steps(folder_ / "run"), up_to(steps));
}

TEST_F(Resume, RefusesFewerStepsThanTheRunHasDone) {
  undisturbed(6);
  TinyTask task;
  EXPECT_TAPE_ERROR(
      task.fit(everything(folder_ / "undisturbed", 5)), ErrorKind::config,
      fmt::format("{}/undisturbed/checkpoint-6: the run has already done 6 steps, more than the 5 requested",
                  folder_.path()));
  EXPECT_EQ(logged_steps(folder_ / "undisturbed"), up_to(6)) << "unchanged";
}

TEST_F(Resume, GivesTheSameModelForAFinishedRun) {
  const Ending expected = undisturbed(6);
  fs::create_directory(folder_ / "undisturbed/.tmp-old-checkpoint-2");
  TinyTask task(0.1, 50);
  const TrainResult result = task.fit(everything(folder_ / "undisturbed", 6));
  EXPECT_EQ(result.resumed_from, 6);
  EXPECT_TRUE(result.evaluation);
  EXPECT_TRUE(ending_of(task, result.checkpoint) == expected);
  EXPECT_FALSE(fs::exists(folder_ / "undisturbed/.tmp-old-checkpoint-2")) << "left by a kill after the last save";
}

TEST_F(Resume, CanExtendARun) {
  const Ending expected = undisturbed(12);
  {
    TinyTask task;
    TrainerOptions options = everything(folder_ / "run", 9);
    task.fit(options);
  }
  TinyTask task;
  const TrainResult result = task.fit(everything(folder_ / "run", 12));
  const Ending ending = ending_of(task, result.checkpoint);
  EXPECT_EQ(ending.trained, expected.trained);
  EXPECT_EQ(ending.optimizer, expected.optimizer);
}

TEST_F(Resume, FallsBackWithAWarningAndIsBitwiseExact) {
  const Ending expected = undisturbed(12);
  {
    TinyTask task;
    task.fit(everything(folder_ / "run", 9));
  }
  write_text(folder_ / "run/checkpoint-9/model.safetensors", "broken");
  TinyTask task;
  const TrainResult result = task.fit(everything(folder_ / "run", 12));
  EXPECT_EQ(result.resumed_from, 8);
  ASSERT_EQ(result.warnings.size(), 2U);
  EXPECT_THAT(result.warnings[0], HasSubstr("checkpoint-9 is broken and was skipped: "));
  EXPECT_EQ(result.warnings[1], "checkpoint-9 was renamed to set-aside-checkpoint-9: the run resumes from step 8");
  EXPECT_TRUE(fs::exists(folder_ / "run/set-aside-checkpoint-9/MANIFEST.json"));
  EXPECT_EQ(ending_of(task, result.checkpoint).trained, expected.trained);
  EXPECT_EQ(ending_of(task, result.checkpoint).optimizer, expected.optimizer);
  EXPECT_EQ(logged_steps(folder_ / "run"), up_to(12));
}

TEST_F(Resume, RefusesABrokenNamedCheckpoint) {
  {
    TinyTask task;
    task.fit(everything(folder_ / "run", 9));
  }
  TinyTask task;
  TrainerOptions options = everything(folder_ / "run", 12);
  options.resume_from = "checkpoint-8";
  EXPECT_EQ(task.fit(options).resumed_from, 8);
  fs::remove(folder_ / "run/checkpoint-8/model.safetensors");
  EXPECT_TAPE_ERROR(task.fit(options), ErrorKind::io,
                    folder_ / "run/checkpoint-8/model.safetensors: the file is missing");
}

TEST_F(Resume, StartsFromTheBeginningWithAWarningIfThereIsNoCheckpoint) {
  fs::create_directory(folder_ / "run");
  write_text(folder_ / "run/log.jsonl", "{\"event\":\"start\"}\n{\"event\":\"step\",\"step\":1}\n");
  TinyTask task;
  const TrainResult result = task.fit(everything(folder_ / "run", 3));
  EXPECT_THAT(result.warnings, ElementsAre("no checkpoint to resume from: starting from the beginning"));
  EXPECT_EQ(logged_steps(folder_ / "run"), up_to(3));
}

TEST_F(Resume, RefusesADifferentModel) {
  {
    TinyTask task;
    task.fit({.out = folder_ / "run", .steps = 1}, false);
  }
  manual_seed(1);
  models::GptConfig config = TinyTask::config(0);
  config.d_model = 8;
  models::Gpt other(config);
  optim::Adam adam(other.parameters());
  TinyTask task;
  Trainer trainer(other, adam, {.out = folder_ / "run", .start = Start::resume, .steps = 2});
  try {
    trainer.fit(task.loader, [&](const Rows& rows) { return task.learn(rows); });
    ADD_FAILURE() << "accepted a checkpoint of another shape";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_THAT(error.what(), testing::StartsWith(folder_ / "run/checkpoint-1: load_state_dict: Gpt does not fit:\n"));
  }
}

TEST_F(Resume, RefusesDifferentSettingsUnlessTheyAreAllowed) {
  const auto saved = [this] { return fmt::format("{}/run/checkpoint-1", folder_.path()); };
  {
    TinyTask task;
    task.fit({.out = folder_ / "run", .steps = 1, .settings_json = R"({"lr":0.5,"gone":7})"}, false);
  }
  set_threads(2);
  std::optional<kernels::testing::EmulatedTiles> tiles(std::in_place);
  TinyTask task;
  TrainerOptions options{.out = folder_ / "run",
                         .start = Start::resume,
                         .steps = 2,
                         .accumulate = 2,
                         .precision = MatmulPrecision::medium,
                         .ema_decay = 0.5,
                         .settings_json = R"({"lr":0.25})"};
  const std::string all =
      "accumulate 1 then, 2 now; ema_decay 0.0 then, 0.5 now; precision highest then, medium now; lr 0.5 then, 0.25 "
      "now; gone 7 then, not set now";
  EXPECT_TAPE_ERROR(
      task.fit(options, false), ErrorKind::config,
      fmt::format("{}: settings differ from those of the run: {}; use --allow-changes to resume anyway", saved(), all));
  options.allow_changes = true;
  const TrainResult result = task.fit(options, false);
  tiles.reset();
  set_threads(1);
  EXPECT_THAT(result.warnings,
              ElementsAre(fmt::format("the run resumes with different settings: {}", all),
                          "results may differ bitwise from those of an uninterrupted run: threads 1 then, 2 now; "
                          "products f32 then, bf16 on AMX tiles now",
                          "the checkpoint has no moving average: the average starts from the checkpoint's parameters"));
}

TEST_F(Resume, WarnsOfACheckpointWithoutSettings) {
  {
    TinyTask task;
    task.fit({.out = folder_ / "run", .steps = 1}, false);
  }
  const std::string saved = folder_ / "run/checkpoint-1", state = saved + "/trainer_state.json";
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(read_text(state));
  ASSERT_EQ(json.erase("settings"), 1u);
  write_text(state, json.dump());
  fs::remove(saved + "/MANIFEST.json");
  write_manifest(saved);
  TinyTask task;
  const TrainResult result =
      task.fit({.out = folder_ / "run", .start = Start::resume, .steps = 2, .accumulate = 2}, false);
  EXPECT_THAT(
      result.warnings,
      ElementsAre("checkpoint-1 does not record its options and data: they were not compared",
                  "results may differ bitwise from those of an uninterrupted run: batches per step 1 then, 2 now"));
}

TEST_F(Resume, RemovesUnfinishedFilesLeftByAKill) {
  {
    TinyTask task;
    task.fit({.out = folder_ / "run", .steps = 1}, false);
  }
  for (const char* name :
       {"log.jsonl.tmp-12", "model.safetensors.tmp-1", "mine.tmp-x", "mine.tmp-", ".tmp-5", "data2024"})
    write_text(folder_ / fmt::format("run/{}", name), "half");
  TinyTask task;
  task.fit({.out = folder_ / "run", .start = Start::resume, .steps = 1}, false);
  EXPECT_THAT(entries_of(folder_ / "run"),
              ElementsAre(".lock", "checkpoint-1", "data2024", "log.jsonl", "mine.tmp-", "mine.tmp-x"));
}

TEST_F(Resume, KeepsTheLastCheckpointAndTheLogOnAFullDisk) {
  TinyTask task;
  TrainerOptions options{.out = folder_ / "run", .steps = 10, .checkpoint_every = 2};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  options.callbacks.on_step = [&](const StepEvent& event) {
    const rlimit limit{5000, before.rlim_max};
    if (event.step == 4) setrlimit(RLIMIT_FSIZE, &limit);
  };
  std::string text;
  try {
    task.fit(options, false);
  } catch (const Error& error) {
    text = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(text, folder_ / "run/.tmp-checkpoint-4/model.safetensors: cannot write: File too large");
  EXPECT_THAT(entries_of(folder_ / "run"), ElementsAre(".lock", "checkpoint-2", "log.jsonl"));
  EXPECT_EQ(newest_checkpoint(folder_ / "run")->checkpoint.state.step, 2);
  EXPECT_EQ(logged_steps(folder_ / "run"), up_to(4));
}

constexpr int64_t kKilledSteps = 30;

/// Not a test by itself: the next one runs it in child processes.
TEST(ResumeChild, DISABLED_Trains) {
  const char* folder = std::getenv("TAPE_RESUME_CHILD");
  ASSERT_NE(folder, nullptr);
  const OneThread one_thread;
  TinyTask task;
  task.fit(everything(folder, kKilledSteps));
}

/// Starts this program with only the test above.
pid_t start_child(const std::string& run) {
  const std::string program = fs::read_symlink("/proc/self/exe");
  std::vector<std::string> words{program, "--gtest_filter=ResumeChild.DISABLED_Trains",
                                 "--gtest_also_run_disabled_tests", "--gtest_brief=1"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setenv("TAPE_RESUME_CHILD", run.c_str(), 1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  unsetenv("TAPE_RESUME_CHILD");
  return child;
}

TEST_F(Resume, IsBitwiseExactAfterKillsAtRandomMoments) {
  const auto began = std::chrono::steady_clock::now();
  const Ending expected = undisturbed(kKilledSteps);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began);
  const std::string run = folder_ / "run";
  Generator draws(static_cast<uint64_t>(getpid()));
  int kills = 0;
  std::set<int64_t> killed_behind;
  // Each child is killed a random time after it began to train, so that it makes progress.
  for (int attempt = 0; attempt < 200; ++attempt) {
    const pid_t child = start_child(run);
    const bool kill_it = kills < 20;
    int status = 0;
    pid_t ended = 0;
    if (kill_it) {
      const auto log = run + "/log.jsonl";
      std::error_code ignored;
      const auto stamp = fs::last_write_time(log, ignored);
      while ((ended = waitpid(child, &status, WNOHANG)) == 0 && fs::last_write_time(log, ignored) == stamp)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      std::this_thread::sleep_for(std::chrono::microseconds(draws.below(took.count() / 2)));
      if (ended == 0) kill(child, SIGKILL);
    }
    if (ended == 0) waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      if (kills >= 20) break;
      // It finished before the kill: start over and keep killing.
      fs::remove_all(run);
      continue;
    }
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ++kills;
    const auto newest = newest_checkpoint(run);
    if (newest) {
      EXPECT_TRUE(newest->warnings.empty()) << newest->warnings[0];
      killed_behind.insert(newest->checkpoint.state.step);
    }
  }
  EXPECT_EQ(kills, 20);
  EXPECT_GE(killed_behind.size(), 2U) << "kills at different points of the run";
  TinyTask task;
  const TrainResult result = task.fit(everything(run, kKilledSteps));
  EXPECT_TRUE(ending_of(task, result.checkpoint) == expected);
  EXPECT_EQ(logged_steps(run), up_to(kKilledSteps));
}

}  // namespace
}  // namespace tape::train
