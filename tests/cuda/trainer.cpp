// Training runs on a GPU, whose losses and norms the host reads when the next step has been launched.
#include "train/trainer/trainer.h"

#include <cstdlib>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/graph.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "nn/linear.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/run_log.h"

namespace tape::train {
namespace {

constexpr int64_t kExamples = 6, kRows = 4;

struct DropoutNet : nn::Module {
  nn::Children<nn::Linear> layers{this, "layers", 2, 5, 5};
  Tensor loss(const Tensor& x) { return mean(square(layers[1](dropout(tanh(layers[0](x)), 0.2)))); }
};

struct StepValues {
  std::vector<double> losses, norms;
  std::vector<float> parameters;
};

void expect_equal(const StepValues& a, const StepValues& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.norms, b.norms);
  EXPECT_EQ(a.parameters, b.parameters);
}

std::vector<float> values_of(nn::Module& model) {
  std::vector<float> values;
  for (const Tensor& parameter : model.parameters())
    for (const float value : parameter.detach().to_vector<float>()) values.push_back(value);
  return values;
}

/// A model on the device of tests with data and an optimizer.
class Task {
  struct Seeded {
    Seeded() { manual_seed(1); }
  } seeded_;  // before the model

 public:
  explicit Task(Device device = cuda) : device_(device) { model.to(device); }

  static Tensor batch(int64_t example) {
    Generator draws(static_cast<uint64_t>(example));
    return randn({kRows, 5}, {f32, cpu}, draws);
  }
  BatchLoss learn(const Tensor& x) {
    Tensor loss = model.loss(x.to(device_));
    const bool bad = bad_example >= 0 && x.to_vector<float>() == batch(bad_example).to_vector<float>();
    if (bad) loss = spoil(loss);
    return {loss, kRows};
  }
  TrainResult fit(TrainerOptions options) {
    options.schedule = &schedule;
    Trainer trainer(model, optimizer, std::move(options));
    Loader<Tensor> loader({.plan =
                               [](int64_t) {
                                 return EpochPlan({{0}, {1}, {2}, {3}, {4}, {5}});
                               },
                           .collate = [](const std::vector<int64_t>& of) { return batch(of[0]); }});
    return trainer.fit(loader, [this](const Tensor& x) { return learn(x); });
  }
  /// The steps of fit(), with values read at once.
  StepValues loop(int64_t steps, int64_t accumulate, double max_norm) {
    StepValues result;
    int64_t next = 0;
    for (int64_t step = 0; step < steps; ++step) {
      optimizer.zero_grad();
      double sum = 0, tokens = 0;
      for (int64_t i = 0; i < accumulate; ++i, ++next) {
        const BatchLoss learned = learn(batch(next % kExamples));
        const double weight = accumulate == 1 ? 1 : static_cast<double>(learned.tokens);
        learned.loss.backward({.gradient = full({}, weight, learned.loss.options())});
        sum += learned.loss.item() * static_cast<double>(learned.tokens);
        tokens += static_cast<double>(learned.tokens);
      }
      const double mean = accumulate == 1 ? 1 : 1 / tokens, norm = mean * optim::grad_norm(optimizer.parameters());
      const double clip = max_norm > 0 ? optim::clip_scale(norm, max_norm) : 1;
      optimizer.step({.gradient_scale = mean * clip, .known_finite = true});
      schedule.step();
      result.losses.push_back(sum / tokens);
      result.norms.push_back(norm);
    }
    result.parameters = values_of(model);
    return result;
  }

  DropoutNet model;
  optim::AdamW optimizer{model.parameters(), {.lr = 0.01}};
  optim::Schedule schedule{optimizer, [](int64_t step) { return 1.0 / static_cast<double>(step + 1); }};
  int64_t bad_example = -1;
  std::function<Tensor(const Tensor& loss)> spoil;

 private:
  Device device_;
};

class CudaTrainer : public testing::Test {
 protected:
  cuda_device::TestDevice device_;
  const TemporaryFolder folder_;
};

StepValues values_logged(const std::string& folder, DropoutNet& model) {
  StepValues result;
  for (const auto& event : events_of(folder, "step")) {
    EXPECT_EQ(event["step"], std::ssize(result.losses) + 1);
    result.losses.push_back(event["loss"]);
    result.norms.push_back(event["grad_norm"]);
  }
  result.parameters = values_of(model);
  return result;
}

TEST_F(CudaTrainer, LogsWhatALoopComputes) {
  for (const int64_t accumulate : {1, 3})
    for (const double max_norm : {0.0, 0.05, 50.0}) {
      SCOPED_TRACE(fmt::format("{} batches, norm {}", accumulate, max_norm));
      const std::string out = folder_ / fmt::format("{}-{}", accumulate, max_norm);
      Task task, other;
      task.fit({.out = out, .steps = 8, .clip_norm = max_norm, .accumulate = accumulate, .seed = 5});
      manual_seed(5);
      expect_equal(values_logged(out, task.model), other.loop(8, accumulate, max_norm));
    }
}

TEST_F(CudaTrainer, WaitsForNoStep) {
  for (const int64_t log_every : {1, 4}) {
    Task task;
    std::vector<int64_t> waits;
    task.fit({.steps = 12, .clip_norm = 1, .log_every = log_every, .interrupted = [&] {
                waits.push_back(cuda_device::waits());
                return false;
              }});
    ASSERT_EQ(waits.size(), 13);
    for (size_t step = 3; step < waits.size(); ++step) EXPECT_EQ(waits[step], waits[2]) << "step " << step;
  }
}

TEST_F(CudaTrainer, CallsBackWithTheModelOfTheStep) {
  Task task;
  std::vector<std::vector<float>> seen;
  task.fit({.steps = 3, .seed = 5, .callbacks = {.on_step = [&](const StepEvent& event) {
                                     EXPECT_EQ(event.step, std::ssize(seen) + 1);
                                     seen.push_back(values_of(task.model));
                                   }}});
  for (int64_t steps = 1; steps <= 3; ++steps) {
    Task other;
    other.fit({.steps = steps, .seed = 5});
    EXPECT_EQ(seen[static_cast<size_t>(steps - 1)], values_of(other.model));
  }
}

TEST_F(CudaTrainer, SavesAndResumesAtTheRightStep) {
  Task whole;
  whole.fit({.out = folder_ / "whole", .steps = 7, .clip_norm = 0.1, .checkpoint_every = 3, .seed = 5});
  Task first;
  const TrainResult interrupted = first.fit(
      {.out = folder_ / "parts", .steps = 7, .clip_norm = 0.1, .checkpoint_every = 3, .seed = 5, .interrupted = [&] {
         return first.schedule.last_step() == 5;
       }});
  EXPECT_EQ(interrupted.reason, StopReason::interrupted);
  EXPECT_EQ(interrupted.step, 5);
  EXPECT_EQ(events_of(folder_ / "parts", "step").size(), 5);
  Task rest;
  const TrainResult resumed =
      rest.fit({.out = folder_ / "parts", .start = Start::resume, .steps = 7, .clip_norm = 0.1, .checkpoint_every = 3});
  EXPECT_EQ(resumed.resumed_from, 5);
  expect_equal(values_logged(folder_ / "parts", rest.model), values_logged(folder_ / "whole", whole.model));
}

/// The message of a run that ends at step 3, the learning rate then, and the warnings of its log.
struct Stopped {
  std::string message;
  std::vector<float> parameters;
  double lr;
  int64_t schedule_step;
  std::vector<std::string> log;
};

Stopped stopped(Device device, const std::string& out, const std::function<Tensor(const Tensor&)>& spoil,
                int64_t accumulate = 1) {
  Task task(device);
  task.bad_example = 2 * accumulate;
  task.spoil = spoil;
  Stopped result;
  try {
    task.fit({.out = out, .steps = 6, .clip_norm = 1, .accumulate = accumulate, .seed = 5});
    ADD_FAILURE() << "the run should have ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numeric);
    result.message = error.what();
  }
  result.parameters = values_of(task.model);
  result.lr = task.optimizer.lr();
  result.schedule_step = task.schedule.last_step();
  for (const char* const kind : {"step", "warning"})
    for (const auto& event : events_of(out, kind)) result.log.push_back(fmt::format("{} {}", kind, int(event["step"])));
  return result;
}

class CudaTrainerFaults : public CudaTrainer {
 protected:
  void expect_like_the_cpu(const std::function<Tensor(const Tensor&)>& spoil, int64_t accumulate = 1) {
    const Stopped here = stopped(cpu, folder_ / "here", spoil, accumulate);
    const Stopped there = stopped(cuda, folder_ / "there", spoil, accumulate);
    EXPECT_EQ(there.message, here.message);
    EXPECT_EQ(there.lr, here.lr);
    EXPECT_EQ(there.schedule_step, 2);
    EXPECT_EQ(there.log, (std::vector<std::string>{"step 1", "step 2", "warning 2"}));
    EXPECT_EQ(here.log, there.log);
    Task before;
    before.fit({.steps = 2, .clip_norm = 1, .accumulate = accumulate, .seed = 5});
    EXPECT_EQ(there.parameters, values_of(before.model));
  }
};

/// A loss that is not finite, of finite gradients.
Tensor plus(const Tensor& loss, double value) { return loss + full({}, value, loss.options()); }

TEST_F(CudaTrainerFaults, EndTheRunAtTheStepOfANanLoss) {
  expect_like_the_cpu([](const Tensor& loss) { return plus(loss, std::numeric_limits<double>::quiet_NaN()); });
}

TEST_F(CudaTrainerFaults, EndTheRunAtTheStepOfAnInfiniteLoss) {
  expect_like_the_cpu([](const Tensor& loss) { return plus(loss, std::numeric_limits<double>::infinity()); });
}

TEST_F(CudaTrainerFaults, EndTheRunAtTheStepOfTheGradient) {
  expect_like_the_cpu([](const Tensor& loss) { return sqrt(loss * 0) + 1; });
}

TEST_F(CudaTrainerFaults, NameTheBatchesOfTheStepSoFar) {
  expect_like_the_cpu([](const Tensor& loss) { return plus(loss, std::numeric_limits<double>::infinity()); }, 2);
}

TEST_F(CudaTrainerFaults, AreFoundWhereLearnReadsValues) {
  // The wait of the next step's learn reports first that a check has failed.
  Task task;
  task.bad_example = 2;
  task.spoil = [](const Tensor& loss) { return sqrt(loss * 0) + 1; };
  Trainer trainer(task.model, task.optimizer, {.steps = 6});
  Loader<Tensor> loader({.plan =
                             [](int64_t) {
                               return EpochPlan({{0}, {1}, {2}, {3}});
                             },
                         .collate = [](const std::vector<int64_t>& of) { return Task::batch(of[0]); }});
  const auto learn = [&](const Tensor& x) {
    BatchLoss learned = task.learn(x);
    learned.loss.item();
    return learned;
  };
  try {
    trainer.fit(loader, learn);
    ADD_FAILURE() << "the run should have ended";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("step 3, epoch 0, batch 2: a gradient is not finite: ", 0), 0)
        << error.what();
  }
}

TEST_F(CudaTrainerFaults, AreErrorsOfOtherChecksToo) {
  Task task;
  task.bad_example = 2;
  task.spoil = [](const Tensor& loss) {
    const Tensor ids = full({1}, 7, {i64, cuda});
    return loss + sum(index_select(full({3}, 1.0, {f32, cuda}), 0, ids));
  };
  EXPECT_TAPE_ERROR(task.fit({.steps = 6}), ErrorKind::index, "index_select: index 7 at position 0 is outside [-3, 3)");
}

StepValues run_with_graphs(const std::string& out, bool graphs, cuda_device::GraphStatistics* statistics = nullptr) {
  if (graphs) setenv("TAPE_CUDA_GRAPHS", "1", 1);
  const cuda_device::TestDevice device;
  Task task;
  task.fit({.out = out, .steps = 20, .clip_norm = 0.1, .seed = 5});
  if (graphs) unsetenv("TAPE_CUDA_GRAPHS");
  if (statistics) *statistics = cuda_device::graph_statistics();
  return values_logged(out, task.model);
}

TEST(CudaTrainerGraphs, GiveTheSameBitsInOneGraphAStep) {
  const TemporaryFolder folder;
  cuda_device::GraphStatistics statistics;
  expect_equal(run_with_graphs(folder / "graphs", true, &statistics), run_with_graphs(folder / "plain", false));
  EXPECT_EQ(statistics.graphs, 1);
  EXPECT_EQ(statistics.graph_launches, 18);  // of 20 steps: the first one initializes state, the second is seen once
  EXPECT_EQ(cuda_device::list_ends_text(statistics), "20 by copies to the host");
}

}  // namespace
}  // namespace tape::train
