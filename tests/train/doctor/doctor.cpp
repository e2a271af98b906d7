#include "train/doctor/doctor.h"

#include <cmath>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/ops.h"
#include "nn/linear.h"
#include "nn/transformer/feed_forward.h"
#include "tests/support/errors.h"
#include "tests/train/tiny_task.h"

namespace tape::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Net : nn::Layer<Net> {
  nn::Child<nn::FeedForward> body{this, "body", 4, 16};
  nn::Child<nn::Linear> head{this, "head", 4, 3};
  nn::Child<nn::Linear> unused{this, "unused", 4, 3};
  bool uses_all = true;
  Tensor forward(const Tensor& x) {
    const Tensor y = head(x + body(x));
    return uses_all ? y + unused(x) : y;
  }
};

struct Patient {
  Patient() { manual_seed(1); }
  Net net;
  Tensor x = (manual_seed(2), randn({6, 4}));
  Tensor target = tensor({0, 1, 2, 0, 1, 2}, i64);
  double smoothing = 0;
  BatchLoss learn() { return {cross_entropy(net(x), target, {.label_smoothing = smoothing}), 6}; }
  Diagnosis examine(double lr, DoctorOptions options = {}) {
    optim::Adam adam(net.parameters(), {.lr = lr});
    return overfit_one_batch(
        net, adam, [this] { return learn(); }, options);
  }
};

TEST(Doctor, ReportsThatASoundSetupLearns) {
  Patient patient;
  patient.smoothing = 0.1;
  const Diagnosis diagnosis = patient.examine(3e-2, {.label_smoothing = 0.1, .classes = 3});
  EXPECT_TRUE(diagnosis.can_learn);
  EXPECT_NEAR(diagnosis.floor, smoothed_floor(0.1, 3), 1e-12);
  EXPECT_GE(diagnosis.last_loss, diagnosis.floor - 1e-6);
  EXPECT_LT(diagnosis.last_loss, diagnosis.floor + 0.1 * (diagnosis.first_loss - diagnosis.floor));
  EXPECT_THAT(diagnosis.no_gradient, IsEmpty());
  EXPECT_THAT(diagnosis.zero_gradient, IsEmpty());
  EXPECT_THAT(diagnosis.dead, IsEmpty());
  EXPECT_THAT(diagnosis.lines,
              ElementsAre(fmt::format("loss on one batch: {:.4f} to {:.4f} in 100 steps; the minimum is {:.4f} "
                                      "(label smoothing 0.1)",
                                      diagnosis.first_loss, diagnosis.last_loss, diagnosis.floor),
                          "gradients reach all 8 trainable parameters", "no dead layers found",
                          "learning rate: 3.00e-02, without a schedule",
                          "verdict: it can learn: the model fits the batch almost perfectly"));
}

TEST(Doctor, ComputesTheMinimalLossWithLabelSmoothing) {
  // By hand: V = 4, s = 0.2: 0.85 and three times 0.05.
  EXPECT_NEAR(smoothed_floor(0.2, 4), -0.85 * std::log(0.85) - 3 * 0.05 * std::log(0.05), 1e-12);
  EXPECT_EQ(smoothed_floor(0, 10), 0);
  EXPECT_NEAR(smoothed_floor(1, 10), std::log(10), 1e-12) << "all classes alike";
  EXPECT_TAPE_ERROR(smoothed_floor(1.5, 10), ErrorKind::config, "doctor: label_smoothing must be from 0 to 1, got 1.5");
  EXPECT_TAPE_ERROR(smoothed_floor(0.1, 0), ErrorKind::config,
                    "doctor: label smoothing needs the number of classes, got 0");
}

TEST(Doctor, NamesParametersThatNoGradientReaches) {
  Patient patient;
  patient.net.uses_all = false;
  const Diagnosis diagnosis = patient.examine(3e-2);
  EXPECT_THAT(diagnosis.no_gradient, ElementsAre("unused.weight", "unused.bias"));
  EXPECT_THAT(diagnosis.lines, testing::Contains("no gradient reaches 2 of 8 parameters: unused.weight, unused.bias"));
  EXPECT_THAT(diagnosis.lines.back(), HasSubstr("but check the parameters without a gradient"));
}

TEST(Doctor, NamesDeadLayers) {
  Patient patient;
  {
    const NoGrad no_grad;
    patient.net.body->linear1->bias.fill_(-1000);
  }
  const Diagnosis diagnosis = patient.examine(3e-2);
  EXPECT_THAT(diagnosis.dead, testing::Contains("body.activation: relu: 16 of 16 units are always 0"));
  EXPECT_THAT(diagnosis.zero_gradient, ElementsAre("body.linear1.weight", "body.linear1.bias", "body.linear2.weight"));
}

TEST(Doctor, ReportsThatNothingIsLearned) {
  for (const auto& [lr, verdict] :
       {std::pair(1e-9, "verdict: it does not learn: the loss does not fall"), {1e-4, "verdict: it hardly learns: "}}) {
    Patient patient;
    const Diagnosis diagnosis = patient.examine(lr);
    EXPECT_FALSE(diagnosis.can_learn);
    EXPECT_THAT(diagnosis.lines.back(), HasSubstr(verdict));
  }
}

TEST(Doctor, NamesTheOperationThatFirstGivesNan) {
  Patient patient;
  optim::Adam adam(patient.net.parameters(), {.lr = 1e-2});
  const Diagnosis diagnosis = overfit_one_batch(patient.net, adam, [&]() -> BatchLoss {
    return {mean(log(patient.net(patient.x))), 6};
  });
  EXPECT_FALSE(diagnosis.can_learn);
  EXPECT_THAT(diagnosis.lines[1], HasSubstr("step 1: NaN or infinity: log: produced NaN at "));
}

TEST(Doctor, ChecksTheWarmUp) {
  Patient patient;
  optim::Adam adam(patient.net.parameters(), {.lr = 0.02});
  const optim::InverseSqrtSchedule schedule(adam, {.warmup = 400});
  const auto line_of = [&](int64_t total) {
    return overfit_one_batch(patient.net, adam, [&] { return patient.learn(); },
                             {.steps = 5, .schedule = &schedule, .total_steps = total})
        .lines;
  };
  EXPECT_THAT(line_of(4000), testing::Contains("learning rate: 5.00e-05 at step 1, peak 2.00e-02 at step 400 of "
                                               "4000"));
  EXPECT_THAT(line_of(500), testing::Contains("the warm-up takes 80% of the run: shorten it, or train longer"));
  EXPECT_THAT(
      line_of(300),
      testing::Contains("the learning rate is still rising at the last step: the warm-up is longer than the run"));
}

TEST(Doctor, RestoresModelOptimizerAndRandomStreams) {
  TinyTask task;
  task.fit({.steps = 3}, false);
  const std::string weights = bytes_of_state(task.model.state_dict()), state = bytes_of_state(task.adam.state_dict());
  const RandomState random = random_state();
  const DataPosition position = task.loader.position();
  const Diagnosis diagnosis =
      overfit_one_batch(task.model, task.adam, task.loader, [&](const Rows& rows) { return task.learn(rows); });
  EXPECT_LT(diagnosis.last_loss, diagnosis.first_loss);
  EXPECT_EQ(bytes_of_state(task.model.state_dict()), weights);
  EXPECT_EQ(bytes_of_state(task.adam.state_dict()), state);
  EXPECT_EQ(random_state(), random);
  EXPECT_EQ(task.loader.position(), position);
  EXPECT_TRUE(task.model.is_training());
}

TEST(Doctor, RefusesOptionsOutOfRange) {
  Patient patient;
  EXPECT_TAPE_ERROR(patient.examine(1, {.steps = 1}), ErrorKind::config, "doctor: steps must be at least 2, got 1");
  EXPECT_TAPE_ERROR(patient.examine(1, {.lr = 0.0}), ErrorKind::config, "doctor: lr must be a number > 0, got 0");
}

}  // namespace
}  // namespace tape::train
