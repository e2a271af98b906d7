#include "train/trainer/training_run.h"

#include <filesystem>
#include <stdexcept>

#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "tests/train/run_log.h"
#include "tests/train/tiny_task.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class EvaluationInARun : public testing::Test {
 protected:
  std::string run() const { return folder_ / "run"; }
  TrainerOptions options() { return {.out = run(), .steps = 10, .schedule = &task_.schedule, .evaluate_every = 5}; }
  TrainResult fit(TrainerOptions given, const std::function<Evaluation()>& evaluate) {
    return Trainer(task_.model, task_.adam, std::move(given))
        .fit(
            task_.loader, [this](const Rows& rows) { return task_.learn(rows); }, evaluate);
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const auto& event : events_of(run(), "warning")) texts.push_back(event["text"]);
    return texts;
  }

  const OneThread one_thread_;
  const TemporaryFolder folder_;
  TinyTask task_;
};

TEST_F(EvaluationInARun, DrawsSamplesAfterTheCheckpointAndLogsThem) {
  const TrainResult result = fit(options(), [this] {
    Evaluation evaluation = task_.evaluate();
    evaluation.drawn = "by hand";
    evaluation.draw_samples = [this] {
      const int64_t number = fs::exists(run() + "/checkpoint-10") ? 10 : fs::exists(run() + "/checkpoint-5") ? 5 : 0;
      return std::vector<Sample>{{"a", "b", std::to_string(number)}};
    };
    return evaluation;
  });
  const auto events = events_of(run(), "samples");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["samples"][0]["output"], "5");
  EXPECT_EQ(events[0]["drawn"], "by hand");
  EXPECT_EQ(events[1]["samples"][0]["output"], "10");
  ASSERT_EQ(result.evaluation->samples.size(), 1u);
  EXPECT_TRUE(result.warnings.empty());
}

TEST_F(EvaluationInARun, DrawsSamplesFromTheWeightsThatWereEvaluated) {
  TrainerOptions given = options();
  given.ema_decay = 0.9;
  std::string evaluated;
  int drawn = 0;
  fit(std::move(given), [&] {
    Evaluation evaluation = task_.evaluate();
    evaluated = bytes_of_state(task_.model.state_dict());
    evaluation.draw_samples = [&]() -> std::vector<Sample> {
      EXPECT_EQ(bytes_of_state(task_.model.state_dict()), evaluated);
      EXPECT_FALSE(task_.model.is_training());
      ++drawn;
      return {};
    };
    return evaluation;
  });
  EXPECT_EQ(drawn, 2);
}

TEST_F(EvaluationInARun, DrawsSamplesFromTheCheckpointThatTheRunEndsWith) {
  int evaluations = 0;
  const TrainResult result = fit(options(), [&] {
    const int number = ++evaluations;
    return Evaluation{.loss = number == 2 ? 9.0 : 1.0, .draw_samples = [number] {
                        return std::vector<Sample>{{"", "", std::to_string(number)}};
                      }};
  });
  EXPECT_EQ(result.weights, "step 5");
  ASSERT_EQ(result.evaluation->samples.size(), 1u);
  EXPECT_EQ(result.evaluation->samples[0].output, "3") << "from evaluating the loaded weights";
}

TEST_F(EvaluationInARun, ContinuesWithAWarningIfSamplesCannotBeDrawn) {
  const TrainResult result = fit(options(), [this] {
    Evaluation evaluation = task_.evaluate();
    evaluation.draw_samples = []() -> std::vector<Sample> { raise(ErrorKind::index, "decode: id 305 is too large"); };
    return evaluation;
  });
  EXPECT_EQ(result.reason, StopReason::steps);
  EXPECT_EQ(result.step, 10);
  EXPECT_TRUE(fs::exists(run() + "/checkpoint-10"));
  const std::string text = "samples left out: decode: id 305 is too large";
  EXPECT_THAT(warnings(), ElementsAre(text, text));
  EXPECT_THAT(result.warnings, ElementsAre(text, text));
}

TEST_F(EvaluationInARun, ContinuesWithAWarningIfTheReportCannotBeWritten) {
  TrainerOptions given = options();
  given.report = [this](const std::string& folder) {
    EXPECT_EQ(folder, run());
    EXPECT_TRUE(fs::exists(run() + "/checkpoint-5"));
    throw std::runtime_error("no page");
  };
  const TrainResult result = fit(std::move(given), [this] { return task_.evaluate(); });
  EXPECT_EQ(result.step, 10);
  EXPECT_THAT(warnings(), ElementsAre("the report left out: no page", "the report left out: no page",
                                      "the report left out: no page"));
}

TEST_F(EvaluationInARun, LeavesACheckpointIfItFails) {
  EXPECT_TAPE_ERROR(fit(options(), []() -> Evaluation { raise(ErrorKind::index, "decode: id 305 is too large"); }),
                    ErrorKind::index, "decode: id 305 is too large");
  EXPECT_TRUE(fs::exists(run() + "/checkpoint-5"));
  TrainerOptions on = options();
  on.start = Start::resume;
  const TrainResult result = fit(std::move(on), [this] { return task_.evaluate(); });
  EXPECT_EQ(result.resumed_from, 5);
  EXPECT_EQ(events_of(run(), "eval").size(), 2u) << "the failed evaluation is repeated";
}

TEST_F(EvaluationInARun, NamesItselfIfItDoesNotFitIntoMemory) {
  EXPECT_TAPE_ERROR(fit(options(), []() -> Evaluation { raise(ErrorKind::out_of_memory, "allocate: too much"); }),
                    ErrorKind::out_of_memory,
                    "train: the evaluation at step 5 does not fit into memory: allocate: too much");
  EXPECT_TRUE(fs::exists(run() + "/checkpoint-5"));
}

TEST_F(EvaluationInARun, LeavesNoCheckpointOfNonFiniteWeights) {
  EXPECT_TAPE_ERROR(fit(options(), []() -> Evaluation { raise(ErrorKind::numeric, "the loss is nan"); }),
                    ErrorKind::numeric, "the loss is nan");
  EXPECT_FALSE(fs::exists(run() + "/checkpoint-5"));
}

}  // namespace
}  // namespace tape::train
