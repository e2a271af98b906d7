#include "optim/schedule.h"

#include <cmath>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "optim/adam.h"
#include "optim/sgd.h"
#include "tests/optim/replay.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"

namespace tape::optim {
namespace {

class ScheduleTest : public testing::Test {
 protected:
  /// Compares the optimizer's lr in steps 1 to 50.
  void expect_as_saved(Schedule& schedule, const std::string& name) const {
    const Tensor& expected = fixture_tensors("optim_schedules").at(name);
    ASSERT_EQ(expected.numel(), 50);
    for (int64_t step = 1; step <= 50; ++step, schedule.step())
      EXPECT_NEAR(sgd.lr(), expected[step - 1].item(), 1e-12) << name << ", step " << step;
  }

  Tensor p = zeros({2}).requires_grad_();
  Sgd sgd{{p}, {.lr = 0.2}};
};

TEST_F(ScheduleTest, NoamFollowsThePapersFormula) {
  NoamSchedule schedule(sgd, {.d_model = 512, .warmup = 4000});
  EXPECT_EQ(schedule.last_step(), 0);
  EXPECT_DOUBLE_EQ(sgd.lr(), std::pow(512, -0.5) * std::pow(4000, -1.5));
  schedule.step();
  EXPECT_EQ(schedule.last_step(), 1);
  EXPECT_DOUBLE_EQ(sgd.lr(), std::pow(512, -0.5) * 2 * std::pow(4000, -1.5));
  EXPECT_NEAR(schedule.lr_at(4000), 1 / std::sqrt(512.0 * 4000), 1e-17);
  EXPECT_LT(schedule.lr_at(3999), schedule.lr_at(4000));
  EXPECT_DOUBLE_EQ(schedule.lr_at(16000), schedule.lr_at(4000) / 2);
  NoamSchedule doubled(sgd, {.d_model = 512, .warmup = 4000, .factor = 2});
  EXPECT_DOUBLE_EQ(doubled.lr_at(16000), schedule.lr_at(4000));
}

TEST_F(ScheduleTest, CosineAgreesWithPyTorch) {
  CosineSchedule schedule(sgd, {.total = 50, .min_lr = 1e-3});
  expect_as_saved(schedule, "cosine");
  EXPECT_DOUBLE_EQ(schedule.lr_at(51), 1e-3);
  EXPECT_DOUBLE_EQ(schedule.lr_at(1000), 1e-3);
}

TEST_F(ScheduleTest, WarmupAgreesWithPyTorch) {
  WarmupSchedule schedule(sgd, {.warmup = 20});
  expect_as_saved(schedule, "warmup");
}

TEST_F(ScheduleTest, LinearDecayAgreesWithPyTorch) {
  LinearSchedule schedule(sgd, {.total = 40});
  expect_as_saved(schedule, "decay");
}

TEST_F(ScheduleTest, DecaysAfterTheWarmup) {
  LinearSchedule linear(sgd, {.lr = 0.8, .warmup = 4, .total = 12});
  EXPECT_DOUBLE_EQ(sgd.lr(), 0.2);
  EXPECT_DOUBLE_EQ(linear.lr_at(4), 0.8);
  EXPECT_DOUBLE_EQ(linear.lr_at(6), 0.6);
  EXPECT_EQ(linear.lr_at(12), 0);
  EXPECT_EQ(linear.lr_at(13), 0);
  CosineSchedule cosine(sgd, {.lr = 0.8, .warmup = 4, .total = 12, .min_lr = 0.2});
  EXPECT_DOUBLE_EQ(cosine.lr_at(2), 0.4);
  EXPECT_DOUBLE_EQ(cosine.lr_at(4), 0.8);
  EXPECT_DOUBLE_EQ(cosine.lr_at(8), 0.5);
  EXPECT_DOUBLE_EQ(cosine.lr_at(12), 0.2);
  LinearSchedule only_warmup(sgd, {.lr = 0.8, .warmup = 4, .total = 4});
  EXPECT_DOUBLE_EQ(only_warmup.lr_at(4), 0.8);
  EXPECT_EQ(only_warmup.lr_at(5), 0);
}

TEST_F(ScheduleTest, InverseSqrtHasItsPeakAtTheEndOfTheWarmup) {
  InverseSqrtSchedule schedule(sgd, {.lr = 0.8, .warmup = 100});
  EXPECT_DOUBLE_EQ(sgd.lr(), 0.008);
  EXPECT_DOUBLE_EQ(schedule.lr_at(100), 0.8);
  EXPECT_DOUBLE_EQ(schedule.lr_at(400), 0.4);
}

TEST_F(ScheduleTest, SupportsConstantAndCustomFormulas) {
  ConstantSchedule constant(sgd);
  EXPECT_DOUBLE_EQ(constant.lr_at(7), 0.2);
  ConstantSchedule given(sgd, {.lr = 0.7});
  EXPECT_DOUBLE_EQ(sgd.lr(), 0.7);
  Schedule own(sgd, [](int64_t step) { return 1.0 / static_cast<double>(step); });
  own.step();
  own.step();
  EXPECT_DOUBLE_EQ(sgd.lr(), 1.0 / 3);
}

TEST_F(ScheduleTest, ResumesAtTheSavedStep) {
  NoamSchedule schedule(sgd, {.d_model = 16, .warmup = 10});
  for (int i = 0; i < 7; ++i) schedule.step();
  Sgd other({p});
  NoamSchedule resumed(other, {.d_model = 16, .warmup = 10});
  resumed.set_last_step(schedule.last_step());
  EXPECT_EQ(other.lr(), sgd.lr());
  schedule.step(), resumed.step();
  EXPECT_EQ(other.lr(), sgd.lr());
  EXPECT_EQ(resumed.last_step(), 8);
}

TEST_F(ScheduleTest, AcceptsOptionsAtTheLimitsOfTheirRanges) {
  EXPECT_EQ(LinearSchedule(sgd, {.lr = 0.5, .warmup = 4, .total = 4}).lr_at(4), 0.5);
  EXPECT_EQ(LinearSchedule(sgd, {.lr = 0.5, .warmup = 4, .total = 4}).lr_at(5), 0);
  EXPECT_EQ(LinearSchedule(sgd, {.lr = 0.5, .warmup = 0, .total = 4}).lr_at(1), 0.375);
  EXPECT_EQ(LinearSchedule(sgd, {.lr = 0.5, .total = 1}).lr_at(1), 0);
  EXPECT_EQ(LinearSchedule(sgd, {.lr = 0, .total = 3}).lr_at(1), 0);
  EXPECT_EQ(CosineSchedule(sgd, {.lr = 0.5, .warmup = 4, .total = 4}).lr_at(4), 0.5);
  EXPECT_EQ(CosineSchedule(sgd, {.lr = 0.5, .total = 4, .min_lr = 0.5}).lr_at(3), 0.5);
  EXPECT_EQ(CosineSchedule(sgd, {.lr = 0.5, .total = 4, .min_lr = 0}).lr_at(4), 0);
  EXPECT_EQ(WarmupSchedule(sgd, {.lr = 0.5, .warmup = 1}).lr_at(1), 0.5);
  EXPECT_EQ(InverseSqrtSchedule(sgd, {.lr = 0.5, .warmup = 1}).lr_at(4), 0.25);
  EXPECT_EQ(NoamSchedule(sgd, {.d_model = 1, .warmup = 1}).lr_at(4), 0.5);
}

TEST_F(ScheduleTest, RefusesOptionsOutOfRange) {
  EXPECT_TAPE_ERROR(NoamSchedule(sgd, {.warmup = 10}), ErrorKind::config,
                    "NoamSchedule: d_model must be at least 1, got 0");
  EXPECT_TAPE_ERROR(NoamSchedule(sgd, {.d_model = 8, .warmup = 0}), ErrorKind::config,
                    "NoamSchedule: warmup must be at least 1, got 0");
  EXPECT_TAPE_ERROR(NoamSchedule(sgd, {.d_model = 8, .factor = NAN}), ErrorKind::config,
                    "NoamSchedule: factor must be a number > 0, got nan");
  EXPECT_TAPE_ERROR(WarmupSchedule(sgd, {.lr = 1}), ErrorKind::config,
                    "WarmupSchedule: warmup must be at least 1, got 0");
  EXPECT_TAPE_ERROR(WarmupSchedule(sgd, {.lr = NAN, .warmup = 3}), ErrorKind::config,
                    "WarmupSchedule: lr must be a number >= 0, got nan");
  for (const double lr : {INFINITY, -INFINITY}) {
    const std::string wrong = fmt::format("Schedule: lr must be a number >= 0, got {}", lr);
    EXPECT_TAPE_ERROR(ConstantSchedule(sgd, {.lr = lr}), ErrorKind::config, "Constant" + wrong);
    EXPECT_TAPE_ERROR(WarmupSchedule(sgd, {.lr = lr, .warmup = 3}), ErrorKind::config, "Warmup" + wrong);
    EXPECT_TAPE_ERROR(LinearSchedule(sgd, {.lr = lr, .total = 9}), ErrorKind::config, "Linear" + wrong);
    EXPECT_TAPE_ERROR(CosineSchedule(sgd, {.lr = lr, .total = 9}), ErrorKind::config, "Cosine" + wrong);
    EXPECT_TAPE_ERROR(InverseSqrtSchedule(sgd, {.lr = lr, .warmup = 3}), ErrorKind::config, "InverseSqrt" + wrong);
  }
  EXPECT_TAPE_ERROR(InverseSqrtSchedule(sgd, {.warmup = 0}), ErrorKind::config,
                    "InverseSqrtSchedule: warmup must be at least 1, got 0");
  EXPECT_TAPE_ERROR(ConstantSchedule(sgd, {.lr = -2}), ErrorKind::config,
                    "ConstantSchedule: lr must be a number >= 0, got -2");
  EXPECT_TAPE_ERROR(LinearSchedule(sgd, {.warmup = 3}), ErrorKind::config,
                    "LinearSchedule: total must be at least 1, got 0");
  EXPECT_TAPE_ERROR(LinearSchedule(sgd, {.warmup = -3, .total = 9}), ErrorKind::config,
                    "LinearSchedule: warmup must not be negative, got -3");
  EXPECT_TAPE_ERROR(CosineSchedule(sgd, {.warmup = 10, .total = 9}), ErrorKind::config,
                    "CosineSchedule: warmup must not be longer than total, got 10 and 9");
  EXPECT_TAPE_ERROR(CosineSchedule(sgd, {.lr = 0.1, .total = 9, .min_lr = 0.2}), ErrorKind::config,
                    "CosineSchedule: min_lr must be between 0 and lr, got 0.2 and lr 0.1");
  EXPECT_TAPE_ERROR(Schedule(sgd, [](int64_t) { return -1.0; }), ErrorKind::config,
                    "Sgd: lr must be a number >= 0, got -1");
  ConstantSchedule constant(sgd);
  EXPECT_TAPE_ERROR(constant.set_last_step(-1), ErrorKind::config,
                    "Schedule: the number of steps done must not be negative, got -1");
  EXPECT_TAPE_ERROR(constant.lr_at(0), ErrorKind::config, "Schedule: steps are counted from 1, got 0");
  EXPECT_DOUBLE_EQ(sgd.lr(), 0.2);
}

/// A run after 10 of 20 steps, whose next lr is 0.5.
struct HalfARun {
  HalfARun() {
    LinearSchedule schedule(sgd, {.warmup = 2, .total = 20});
    for (int step = 0; step < 10; ++step) schedule.step();
    done = schedule.last_step();
  }
  Sgd sgd{{zeros({2}).requires_grad_()}, {.lr = 1}};
  int64_t done = 0;
};

TEST(ScheduleResume, WorksBeforeOrAfterLoadingTheOptimizersState) {
  const HalfARun run;
  EXPECT_DOUBLE_EQ(run.sgd.lr(), 0.5);
  EXPECT_EQ(run.sgd.initial_lr(), 1);
  for (const bool schedule_first : {true, false})
    for (const double made_with : {1.0, 0.2}) {
      if (schedule_first && made_with != 1) continue;  // the schedule would keep the lr from its construction
      Sgd resumed({zeros({2}).requires_grad_()}, {.lr = made_with});
      if (!schedule_first) resumed.load_state_dict(run.sgd.state_dict());
      LinearSchedule schedule(resumed, {.warmup = 2, .total = 20});
      if (schedule_first) resumed.load_state_dict(run.sgd.state_dict());
      schedule.set_last_step(run.done);
      EXPECT_DOUBLE_EQ(resumed.lr(), 0.5) << schedule_first << ", made with " << made_with;
    }
}

TEST(ScheduleResume, StartsFromTheLrOfAStateWithoutAnInitialOne) {
  const HalfARun run;
  auto state = run.sgd.state_dict();
  state.erase("initial_lr");
  Sgd resumed({zeros({2}).requires_grad_()}, {.lr = 1});
  resumed.load_state_dict(state);
  EXPECT_DOUBLE_EQ(resumed.lr(), 0.5);
  EXPECT_DOUBLE_EQ(resumed.initial_lr(), 0.5);
}

TEST(ScheduleResume, StartsFromAnLrThatWasSet) {
  HalfARun run;
  run.sgd.set_lr(0.3);
  const ConstantSchedule schedule(run.sgd);
  EXPECT_DOUBLE_EQ(schedule.lr(), 0.3);
}

}  // namespace
}  // namespace tape::optim
