#include "train/trainer/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "autograd/ops.h"
#include "nn/linear.h"
#include "nn/norm/batch_norm.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "tests/train/run_log.h"
#include "tests/train/tiny_task.h"
#include "train/checkpoints/average.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using Json = nlohmann::ordered_json;

void set_values(Tensor& parameter, double value) {
  const NoGrad no_grad;
  parameter.fill_(value);
}

class TrainerTest : public testing::Test {
 protected:
  const OneThread one_thread_;
  const TemporaryFolder folder_;
};

TEST_F(TrainerTest, LearnsATaskEndToEnd) {
  TinyTask task(0);
  std::ostringstream shown;
  std::vector<int64_t> steps, evaluations;
  std::vector<std::string> checkpoints, saved;
  const TrainResult result = task.fit(
      {.out = folder_ / "run",
       .steps = 160,
       .clip_norm = 1,
       .evaluate_every = 40,
       .describe = {.task = "copy", .options_json = R"({"x":1})"},
       .progress = &shown,
       .callbacks = {.on_step = [&](const StepEvent& event) { steps.push_back(event.step); },
                     .on_evaluation = [&](int64_t step, const Evaluation&) { evaluations.push_back(step); },
                     .on_checkpoint = [&](int64_t, const std::string& made, bool) { checkpoints.push_back(made); }},
       .save_model = [&](const std::string& made) { saved.push_back(made); }});
  EXPECT_EQ(result.reason, StopReason::steps);
  EXPECT_EQ(result.step, 160);
  EXPECT_EQ(result.resumed_from, 0);
  ASSERT_TRUE(result.evaluation);
  // Half of the six predictions can be learned; the other half costs ln 6 each.
  EXPECT_LT(result.loss, 1.25);
  EXPECT_GT(result.tokens_per_second, 0);
  EXPECT_EQ(result.checkpoint, folder_ / "run/checkpoint-160");
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_EQ(steps.size(), 160U);
  EXPECT_THAT(evaluations, ElementsAre(40, 80, 120, 160));
  EXPECT_EQ(checkpoints.size(), 4U);
  EXPECT_THAT(saved, Contains(folder_ / "run"));
  EXPECT_THAT(shown.str(), HasSubstr("step 40  valid loss "));
  EXPECT_THAT(shown.str(), testing::ContainsRegex("step 160/160  epoch 32\\.00  loss [0-9.]+"));

  const std::vector<Json> logged = events_of(folder_ / "run", "step");
  ASSERT_EQ(logged.size(), 160U);
  EXPECT_EQ(logged[6]["step"], 7);
  EXPECT_EQ(logged[6]["epoch"], 1.4);
  EXPECT_EQ(logged[6]["tokens"], 48);
  EXPECT_NEAR(logged[1]["lr"].get<double>(), 1e-2 * 2 / 4, 1e-12) << "the learning rate of the step";
  EXPECT_GT(logged[6]["grad_norm"].get<double>(), 0);
  const Json start = events_of(folder_ / "run", "start").at(0);
  EXPECT_EQ(start["task"], "copy");
  EXPECT_EQ(start["parameters"], task.model.parameter_count());
  EXPECT_THAT(start["model"].get<std::string>(), HasSubstr("Gpt"));
  EXPECT_EQ(events_of(folder_ / "run", "eval").size(), 4U);
  const Json end = events_of(folder_ / "run", "end").at(0);
  EXPECT_EQ(end["reason"], "steps");
  EXPECT_EQ(end["metrics"]["negative"], result.evaluation->metrics.at("negative"));
}

TEST_F(TrainerTest, RunsWithoutAFolder) {
  TinyTask task;
  const TrainResult result = task.fit({.steps = 4, .evaluate_every = 2});
  EXPECT_EQ(result.step, 4);
  EXPECT_EQ(result.checkpoint, "");
}

TEST_F(TrainerTest, ClipsAndReportsTheNormBeforeClipping) {
  nn::Linear layer(1, 1, {.bias = false});
  set_values(layer.weight, 3);
  optim::Sgd sgd(layer.parameters(), {.lr = 1});
  Loader<int> loader({.plan = [](int64_t) { return std::vector<std::vector<int64_t>>{{0}}; },
                      .collate = [](const auto&) { return 1; }});
  std::vector<double> norms;
  Trainer trainer(layer, sgd, {.steps = 1, .clip_norm = 0.5, .callbacks = {.on_step = [&](const StepEvent& event) {
                                                               norms.push_back(event.grad_norm);
                                                             }}});
  trainer.fit(loader, [&](int) -> BatchLoss { return {sum(layer.weight * 4.0), 1}; });
  EXPECT_NEAR(norms.at(0), 4, 1e-6);
  EXPECT_NEAR(layer.weight.to_vector<float>()[0], 2.5, 1e-5);
}

struct OneStep {
  std::vector<double> weights;
  double norm = 0;
};

/// All weights after a step of Sgd over the first examples, in batches of the given sizes, and the reported norm.
OneStep one_step(const std::vector<int64_t>& sizes, double clip_norm = 0) {
  TinyTask task(0);
  std::vector<std::vector<int64_t>> plan;
  int64_t at = 0;
  for (const int64_t size : sizes) {
    plan.emplace_back();
    for (int64_t i = 0; i < size; ++i) plan.back().push_back(at++);
  }
  Loader<Rows> loader({.plan = [plan](int64_t) { return plan; }, .collate = TinyTask::collate});
  optim::Sgd sgd(task.model.parameters(), {.lr = 1});
  OneStep result;
  Trainer trainer(task.model, sgd,
                  {.steps = 1,
                   .clip_norm = clip_norm,
                   .accumulate = std::ssize(sizes),
                   .callbacks = {.on_step = [&](const StepEvent& event) { result.norm = event.grad_norm; }}});
  trainer.fit(loader, [&](const Rows& rows) { return task.learn(rows); });
  for (const Tensor& parameter : task.model.parameters())
    for (const double value : parameter.detach().to(f64).to_vector<double>()) result.weights.push_back(value);
  return result;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST_F(TrainerTest, AccumulatedBatchesEqualOneLargeBatch) {
  const OneStep big = one_step({20});
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{10, 10}, {1, 4, 15}, {19, 1}})
    EXPECT_LT(largest_difference(one_step(sizes).weights, big.weights), 2e-6);
  EXPECT_GT(largest_difference(one_step({19}).weights, big.weights), 1e-4) << "one example fewer is noticeable";
}

TEST_F(TrainerTest, AccumulatedBatchesAreClippedLikeOneLargeBatch) {
  const OneStep free = one_step({20});
  const double limit = free.norm / 2;
  const OneStep big = one_step({20}, limit);
  EXPECT_GT(largest_difference(free.weights, big.weights), 1e-4) << "clipping has an effect";
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{10, 10}, {1, 4, 15}}) {
    const OneStep parts = one_step(sizes, limit);
    EXPECT_NEAR(parts.norm, free.norm, 1e-5 * free.norm);
    EXPECT_LT(largest_difference(parts.weights, big.weights), 2e-6);
  }
}

/// A model with one weight w whose loss is w: each step of Sgd subtracts 1 from it.
struct Countdown {
  Countdown() { set_values(layer.weight, 0); }
  nn::Linear layer{1, 1, {.bias = false}};
  optim::Sgd sgd{layer.parameters(), {.lr = 1}};
  Loader<int> loader{{.plan =
                          [](int64_t) {
                            return std::vector<std::vector<int64_t>>{{0}, {1}};
                          },
                      .collate = [](const auto&) { return 1; }}};
  double weight() const { return layer.weight.to_vector<float>()[0]; }
  TrainResult fit(TrainerOptions options, const std::function<double(double weight)>& loss = {}) {
    Trainer trainer(layer, sgd, std::move(options));
    std::function<Evaluation()> evaluate;
    if (loss) evaluate = [&] { return Evaluation{.loss = loss(weight())}; };
    return trainer.fit(
        loader,
        [&](int) -> BatchLoss {
          return {sum(layer.weight), 1};
        },
        evaluate);
  }
};

TEST_F(TrainerTest, KeepsTheLastAndTheBestCheckpoints) {
  Countdown run;
  // The best evaluations are those closest to -2.
  const TrainResult result =
      run.fit({.out = folder_ / "run", .steps = 8, .evaluate_every = 1, .keep_last = 2, .keep_best = 2},
              [](double w) { return std::abs(w + 2.1); });
  EXPECT_THAT(entries_of(folder_ / "run"),
              ElementsAre(".lock", "checkpoint-2", "checkpoint-3", "checkpoint-7", "checkpoint-8", "log.jsonl"));
  EXPECT_EQ(result.weights, "step 2");
  EXPECT_EQ(run.weight(), -2) << "the model gets the best weights";
  EXPECT_NEAR(result.evaluation->loss, 0.1, 1e-6);
}

TEST_F(TrainerTest, KeepsTheBestWeightsWithoutAFolder) {
  Countdown run;
  const TrainResult result = run.fit({.steps = 8, .evaluate_every = 1}, [](double w) { return std::abs(w + 2.1); });
  EXPECT_EQ(result.weights, "step 2");
  EXPECT_EQ(run.weight(), -2);
}

TEST_F(TrainerTest, AveragesTheLastCheckpoints) {
  Countdown run;
  TrainResult result =
      run.fit({.out = folder_ / "a", .steps = 8, .checkpoint_every = 2, .keep_last = 1, .average_last = 3});
  EXPECT_EQ(result.weights, "average of the last 3 checkpoints");
  EXPECT_EQ(run.weight(), -6) << "of -4, -6 and -8";

  Countdown judged;
  result = judged.fit({.out = folder_ / "b", .steps = 8, .evaluate_every = 2, .average_last = 3},
                      [](double w) { return std::abs(w + 8); });
  EXPECT_EQ(result.weights, "step 8") << "better than the average";
  EXPECT_EQ(judged.weight(), -8);
  EXPECT_EQ(events_of(folder_ / "b", "eval").back()["weights"], "average of the last 3 checkpoints");
}

TEST_F(TrainerTest, AveragesTheBestCheckpoints) {
  Countdown run;
  const TrainResult result = run.fit({.out = folder_ / "run", .steps = 8, .evaluate_every = 1, .average_best = 2},
                                     [](double w) { return std::abs(w + 2.5); });
  EXPECT_EQ(result.weights, "average of the best 2 checkpoints");
  EXPECT_EQ(run.weight(), -2.5);
  EXPECT_EQ(result.evaluation->loss, 0);
}

TEST_F(TrainerTest, LeavesABrokenCheckpointOutOfTheAverage) {
  Countdown run;
  const TrainResult result = run.fit({.out = folder_ / "run",
                                      .steps = 8,
                                      .checkpoint_every = 2,
                                      .average_last = 3,
                                      .callbacks = {.on_checkpoint = [&](int64_t step, const std::string& made, bool) {
                                        if (step == 6) write_text(made + "/model.safetensors", "broken");
                                      }}});
  EXPECT_EQ(result.weights, "average of the last 2 checkpoints");
  EXPECT_EQ(run.weight(), -6) << "of -4 and -8";
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("checkpoint-6 is left out of the average: ")));
}

TEST_F(TrainerTest, EvaluatesTheMovingAverage) {
  Countdown run;
  std::vector<double> judged;
  const TrainResult result =
      run.fit({.out = folder_ / "run", .steps = 3, .evaluate_every = 1, .ema_decay = 0.9}, [&](double w) {
        judged.push_back(w);
        return std::abs(w);
      });
  // By hand, of the weights -1, -2 and -3 with d = 2/11, 3/12, 4/13.
  const double first = 0 * 2.0 / 11 - 1 * 9.0 / 11, second = first * 0.25 - 2 * 0.75,
               third = second * 4 / 13 - 27.0 / 13;
  ASSERT_EQ(judged.size(), 4U) << "three evaluations, and the best weights again from their checkpoint";
  EXPECT_NEAR(judged[0], first, 1e-6);
  EXPECT_NEAR(judged[1], second, 1e-6);
  EXPECT_NEAR(judged[2], third, 1e-6);
  EXPECT_NEAR(run.weight(), first, 1e-6);
  EXPECT_EQ(result.weights, "step 1, moving average");
  const Checkpoint last = load_checkpoint(folder_ / "run/checkpoint-3");
  EXPECT_EQ(last.model.at("weight").to_vector<float>()[0], -3) << "the trained weights, restored after evaluating";
  EXPECT_NEAR(last.average.at("weight").to_vector<float>()[0], third, 1e-6);
}

TEST_F(TrainerTest, StopsWhenTheScoreNoLongerRises) {
  Countdown run;
  const TrainResult result = run.fit({.out = folder_ / "run", .steps = 100, .evaluate_every = 2, .patience = 3},
                                     [](double w) { return std::abs(w + 4); });
  EXPECT_EQ(result.reason, StopReason::early_stop);
  EXPECT_EQ(result.step, 10);
  EXPECT_EQ(run.weight(), -4);
  EXPECT_EQ(events_of(folder_ / "run", "end")[0]["reason"], "early stop");
}

TEST_F(TrainerTest, AnEqualScoreIsNotBetter) {
  Countdown run;
  const TrainResult result =
      run.fit({.out = folder_ / "run", .steps = 100, .evaluate_every = 1, .patience = 3}, [](double) { return 1.5; });
  EXPECT_EQ(result.reason, StopReason::early_stop);
  EXPECT_EQ(result.step, 4);
  EXPECT_EQ(result.weights, "step 1");
  EXPECT_EQ(run.weight(), -1);
}

TEST_F(TrainerTest, ANanScoreIsWorseThanAnyOther) {
  Countdown run;
  const TrainResult result =
      run.fit({.out = folder_ / "run", .steps = 6, .evaluate_every = 2}, [](double w) { return w == -4 ? 1.0 : NAN; });
  EXPECT_EQ(result.weights, "step 4");
}

TEST_F(TrainerTest, StopsAtItsTimeLimit) {
  Countdown run;
  const TrainResult result = run.fit(
      {.out = folder_ / "run", .steps = 1000000, .seconds = 0.05, .callbacks = {.on_step = [](const StepEvent&) {
                                                                    std::this_thread::sleep_for(
                                                                        std::chrono::milliseconds(1));
                                                                  }}});
  EXPECT_EQ(result.reason, StopReason::time);
  EXPECT_LT(result.step, 60);
  EXPECT_EQ(result.checkpoint, folder_ / fmt::format("run/checkpoint-{}", result.step));
}

TEST_F(TrainerTest, SavesOnAnInterruptAndPrintsWhere) {
  Countdown run;
  std::ostringstream shown;
  int asked = 0;
  std::vector<std::string> saved;
  const TrainResult result = run.fit({.out = folder_ / "run",
                                      .steps = 100,
                                      .progress = &shown,
                                      .interrupted = [&] { return ++asked > 3; },
                                      .save_model = [&](const std::string& made) { saved.push_back(made); }});
  EXPECT_EQ(result.reason, StopReason::interrupted);
  EXPECT_EQ(result.step, 3);
  EXPECT_EQ(result.checkpoint, folder_ / "run/checkpoint-3");
  EXPECT_EQ(run.weight(), -3);
  EXPECT_EQ(load_checkpoint(result.checkpoint).state.step, 3);
  EXPECT_THAT(shown.str(), HasSubstr(fmt::format("interrupted after step 3, saved in {}", result.checkpoint)));
  EXPECT_EQ(saved.size(), 1U) << "it was never evaluated: there is no better model";
}

TEST_F(TrainerTest, GivesUpAStepThatIsLongerThanTheTimeLimit) {
  Countdown run;
  const TrainResult result =
      run.fit({.out = folder_ / "run", .steps = 2, .seconds = 0.05, .accumulate = 1'000'000'000});
  EXPECT_EQ(result.reason, StopReason::time);
  EXPECT_EQ(result.step, 0);
  EXPECT_EQ(run.weight(), 0);
  EXPECT_EQ(load_checkpoint(result.checkpoint).state.data, DataPosition());
}

TEST_F(TrainerTest, GivesUpAStepWithItsRunningStatistics) {
  nn::BatchNorm1d norm(2);
  optim::Sgd sgd(norm.parameters(), {.lr = 1});
  Loader<int> loader({.plan = [](int64_t) { return std::vector<std::vector<int64_t>>{{0}}; },
                      .collate = [](const auto&) { return 1; }});
  const std::string before = bytes_of_state(norm.state_dict());
  std::string during;
  int learned = 0;
  Trainer trainer(norm, sgd, {.steps = 2, .accumulate = 4, .interrupted = [&] {
                                during = bytes_of_state(norm.state_dict());
                                return learned == 3;
                              }});
  const auto result = trainer.fit(loader, [&](int) {
    ++learned;
    return BatchLoss{sum(norm(rand({4, 2}))), 4};
  });
  EXPECT_EQ(result.step, 0);
  EXPECT_NE(during, before);
  EXPECT_EQ(bytes_of_state(norm.state_dict()), before);
}

TEST_F(TrainerTest, EvaluationChangesNeitherModesNorRandomStreams) {
  TinyTask task;
  task.fit({.steps = 3}, false);
  const std::string without = bytes_of_state(task.model.state_dict());
  TinyTask other;
  Trainer trainer(other.model, other.adam, {.steps = 3, .schedule = &other.schedule, .evaluate_every = 1});
  trainer.fit(
      other.loader, [&](const Rows& rows) { return other.learn(rows); },
      [&] {
        EXPECT_FALSE(other.model.is_training());
        EXPECT_FALSE(grad_enabled());
        for (int i = 0; i < kStreams; ++i) generator(static_cast<Stream>(i)).advance(17);
        return Evaluation{.loss = static_cast<double>(-other.schedule.last_step())};
      });
  EXPECT_EQ(bytes_of_state(other.model.state_dict()), without);
  EXPECT_TRUE(other.model.is_training());
}

/// Its second layer takes the logarithm of values that can become negative.
struct Fragile : nn::Layer<Fragile> {
  struct Logarithm : nn::Layer<Logarithm> {
    Tensor forward(const Tensor& x) { return log(x); }
  };
  struct Root : nn::Layer<Root> {
    Tensor forward(const Tensor& x) { return sqrt(x); }
  };
  nn::Parameter weight{this, "weight", full({2}, 1)};
  nn::Child<Logarithm> logarithm{this, "logarithm"};
  nn::Child<Root> root{this, "root"};
  bool uses_logarithm = true;
  Tensor forward(const Tensor& x) {
    const Tensor scaled = weight * x, first = uses_logarithm ? logarithm(scaled) : scaled;
    return first + root(x * abs(weight));
  }
};

struct FragileRun {
  explicit FragileRun(std::vector<std::vector<double>> batches) : rows(std::move(batches)) {}
  Fragile model;
  optim::Sgd sgd{model.parameters(), {.lr = 0.01}};
  std::vector<std::vector<double>> rows;  // one per batch
  Loader<Tensor> loader{{.plan =
                             [this](int64_t) {
                               std::vector<std::vector<int64_t>> plan;
                               for (int64_t i = 0; i < std::ssize(rows); ++i) plan.push_back({i});
                               return plan;
                             },
                         .collate =
                             [this](const std::vector<int64_t>& indices) {
                               return from_vector(rows[static_cast<size_t>(indices[0])]).to(f32);
                             }}};
  void fit(TrainerOptions options) {
    Trainer trainer(model, sgd, std::move(options));
    trainer.fit(loader, [this](const Tensor& x) -> BatchLoss { return {mean(model(x)), 2}; });
  }
};

TEST_F(TrainerTest, StopsAtANanLossBeforeTheUpdateAndNamesItsOrigin) {
  FragileRun run({{1, 2}, {1, 1}, {1, -2}});
  EXPECT_TAPE_ERROR(
      run.fit({.out = folder_ / "run", .steps = 10, .checkpoint_every = 1}), ErrorKind::numeric,
      "step 3, epoch 0, batch 2: the loss is NaN: logarithm: log: produced NaN at [1] of [2], from finite "
      "inputs; nothing was updated");
  EXPECT_EQ(newest_checkpoint(folder_ / "run")->checkpoint.state.step, 2) << "the last good one is kept";
  EXPECT_EQ(bytes_of_state(run.model.state_dict()),
            bytes_of_state(load_checkpoint(folder_ / "run/checkpoint-2").model));
  EXPECT_THAT(events_of(folder_ / "run", "warning").at(0)["text"].get<std::string>(),
              HasSubstr("logarithm: log: produced NaN"));
  EXPECT_EQ(events_of(folder_ / "run", "step").size(), 2U);
}

TEST_F(TrainerTest, NamesTheBackwardThatGaveAnInfiniteGradient) {
  FragileRun run({{1, 2}, {1, 0}});  // the square root of 0 is finite, its slope infinite
  run.model.uses_logarithm = false;
  EXPECT_TAPE_ERROR(run.fit({.steps = 10, .accumulate = 2}), ErrorKind::numeric,
                    "step 1, epoch 0, batch 0 to epoch 0, batch 1: a gradient is not finite: root: backward of 'sqrt': "
                    "produced inf at [1] of [2] for input 0, from finite gradients; nothing was updated");
}

TEST_F(TrainerTest, SteppingInTheBackwardIsBitwiseEqual) {
  const auto run = [&](bool in_backward) {
    TinyTask task;
    std::vector<double> norms;
    task.fit({.steps = 12,
              .step_in_backward = in_backward,
              .ema_decay = 0.9,
              .callbacks = {.on_step = [&](const StepEvent& event) { norms.push_back(event.grad_norm); }}});
    return std::tuple(bytes_of_state(task.model.state_dict()), bytes_of_state(task.adam.state_dict()), norms);
  };
  const auto [behind, adam_behind, norms_behind] = run(false);
  const auto [within, adam_within, norms_within] = run(true);
  EXPECT_EQ(within, behind);
  EXPECT_EQ(adam_within, adam_behind);
  ASSERT_EQ(norms_within.size(), 12U);
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(norms_within[i], norms_behind[i], 1e-9 * norms_behind[i]);
}

TEST_F(TrainerTest, SteppingInTheBackwardReportsWhatWasUpdatedBeforeAnInfiniteGradient) {
  FragileRun run({{1, 0}});
  run.model.uses_logarithm = false;
  EXPECT_TAPE_ERROR(
      run.fit({.steps = 10, .step_in_backward = true}), ErrorKind::numeric,
      "step 1, epoch 0, batch 0: a gradient is not finite: root: backward of 'sqrt': produced inf at [1] of "
      "[2] for input 0, from finite gradients; nothing was updated");
  Tensor shift = scalar(0).requires_grad_(), scale = scalar(0).requires_grad_();
  optim::Sgd sgd({scale, shift}, {.lr = 0.5});
  Countdown countdown;
  Trainer trainer(countdown.layer, sgd, {.steps = 1, .step_in_backward = true});
  EXPECT_TAPE_ERROR(
      trainer.fit(countdown.loader,
                  [&](int) -> BatchLoss {
                    return {sqrt(scale) + shift, 1};
                  }),
      ErrorKind::numeric,
      "step 1, epoch 0, batch 0: a gradient is not finite: backward of 'sqrt': produced inf at [] of [] for "
      "input 0, from finite gradients; 1 of 2 parameters had already been updated");
  EXPECT_EQ(shift.item(), -0.5);
}

TEST_F(TrainerTest, SearchesForTheFaultWithTheSameRandomValues) {
  // The logarithm of a dropped value is infinite: with another mask it would be elsewhere, or nowhere.
  Countdown run;
  manual_seed(4);
  std::vector<int64_t> dropped;
  std::vector<std::vector<int64_t>> places;  // of each run
  Trainer trainer(run.layer, run.sgd, {.steps = 1});
  try {
    trainer.fit(run.loader, [&](int) -> BatchLoss {
      const Tensor kept = dropout(expand(run.layer.weight + 2.0, {1, 1000}), 0.002);
      const std::vector<float> values = kept.to_vector<float>();
      dropped.clear();
      for (size_t i = 0; i < values.size(); ++i)
        if (values[i] == 0) dropped.push_back(static_cast<int64_t>(i));
      if (dropped.empty()) raise(ErrorKind::config, "choose another seed");
      places.push_back(dropped);
      return {mean(log(kept)), 1};
    });
    ADD_FAILURE() << "accepted an infinite loss";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        fmt::format("step 1, epoch 0, batch 0: the loss is infinite: log: produced -inf at [0, {}] of [1, 1000], from "
                    "finite inputs; nothing was updated",
                    dropped.front()));
  }
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0], places[1]);
}

TEST_F(TrainerTest, NamesAParameterThatIsNan) {
  FragileRun run({{1, 2}});
  set_values(run.model.weight, NAN);
  EXPECT_TAPE_ERROR(
      run.fit({.steps = 10}), ErrorKind::numeric,
      "step 1, epoch 0, batch 0: the loss is NaN: the parameter weight contains NaN or infinity; nothing was "
      "updated");
}

TEST_F(TrainerTest, OneFolderBelongsToOneRun) {
  Countdown run;
  const std::string out = folder_ / "run";
  {
    const RunFolder locked(out);
    EXPECT_TAPE_ERROR(run.fit({.out = out, .steps = 1}), ErrorKind::io,
                      fmt::format("{}: locked by process {}, which is training there", out, getpid()));
  }
  run.fit({.out = out, .steps = 3});
  EXPECT_TAPE_ERROR(
      run.fit({.out = out, .steps = 1}), ErrorKind::io,
      fmt::format("{} contains another run (log.jsonl): resume it (--resume), overwrite it (--overwrite), "
                  "or choose another folder",
                  out));
  fs::remove(out + "/log.jsonl");
  EXPECT_TAPE_ERROR(run.fit({.out = out, .steps = 1}), ErrorKind::io,
                    fmt::format("{} contains another run (checkpoint-3): resume it (--resume), overwrite it "
                                "(--overwrite), or choose another folder",
                                out));
  run.fit({.out = out, .start = Start::overwrite, .steps = 2});
  EXPECT_THAT(entries_of(out), ElementsAre(".lock", "checkpoint-2", "log.jsonl"));
  write_text(folder_ / "file", "");
  EXPECT_TAPE_ERROR(run.fit({.out = folder_ / "file", .steps = 1}), ErrorKind::io,
                    folder_ / "file: cannot create the folder: Not a directory");
}

TEST_F(TrainerTest, RefusesOptionsOutOfRange) {
  Countdown run;
  const auto refused = [&](TrainerOptions options, const std::string& sentence) {
    EXPECT_TAPE_ERROR(run.fit(std::move(options)), ErrorKind::config, sentence);
  };
  refused({}, "Trainer: steps must be at least 1, got 0");
  refused({.steps = 1, .accumulate = 0}, "Trainer: accumulate must be at least 1, got 0");
  refused({.steps = 1, .keep_last = 0}, "Trainer: keep_last must be at least 1, got 0");
  refused({.steps = 1, .evaluate_every = -1}, "Trainer: evaluate_every must be at least 0, got -1");
  refused({.steps = 1, .seconds = NAN}, "Trainer: seconds must be a number >= 0, got nan");
  refused({.steps = 1, .clip_norm = -1}, "Trainer: clip_norm must be a number >= 0, got -1");
  const std::string early = "Trainer: step_in_backward updates each parameter before all gradients are known, so ";
  refused({.steps = 1, .clip_norm = 1, .step_in_backward = true},
          early + "it cannot clip their norm: clip_norm must be 0, got 1");
  refused({.steps = 1, .accumulate = 2, .step_in_backward = true},
          early + "it cannot accumulate batches: accumulate must be 1, got 2");
  refused({.steps = 1, .parts = 4, .step_in_backward = true},
          early + "it cannot split batches into parts: parts must be 1, got 4");
  refused({.steps = 1, .ema_decay = 1}, "Trainer: ema_decay must be at least 0 and below 1, got 1");
  refused({.steps = 1, .average_last = 2}, "Trainer: averaging checkpoints requires a folder, but out is empty");
  refused({.start = Start::resume, .steps = 1}, "Trainer: resuming requires a folder, but out is empty");
  refused({.steps = 1, .load_model = [](const std::string&) { return nn::StateDict(); }},
          "Trainer: load_model reads what save_model writes, but save_model is not set");
  refused({.out = folder_ / "x", .resume_from = "checkpoint-1", .steps = 1},
          "Trainer: resume_from is \"checkpoint-1\", but start is not Start::resume");
  refused({.steps = 1, .patience = 2}, "Trainer: patience 2 requires an evaluate function in fit()");
  Trainer trainer(run.layer, run.sgd, {.steps = 1});
  EXPECT_TAPE_ERROR(trainer.fit(run.loader,
                                [&](int) -> BatchLoss {
                                  return {sum(run.layer.weight), 0};
                                }),
                    ErrorKind::config, "learn: the number of tokens must be at least 1, got 0");
  EXPECT_TAPE_ERROR(trainer.fit(run.loader, [&](int) -> BatchLoss { return {}; }), ErrorKind::config,
                    "learn: the loss is undefined");
}

}  // namespace
}  // namespace tape::train
