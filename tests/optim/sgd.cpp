#include "optim/sgd.h"

#include <cmath>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "tests/optim/replay.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::optim {
namespace {

TEST(Sgd, AgreesWithPyTorchForAHundredSteps) {
  Replay replay;
  Sgd sgd({replay.weight, replay.bias}, {.lr = 0.1, .weight_decay = 0.02});
  replay.expect_run("sgd", sgd);
}

TEST(Sgd, AgreesWithPyTorchForAHundredStepsWithMomentum) {
  Replay replay;
  Sgd sgd({replay.weight, replay.bias}, {.lr = 0.05, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01});
  replay.expect_run("momentum", sgd);
}

TEST(Sgd, AgreesWithPyTorchForAHundredStepsWithNesterov) {
  Replay replay;
  Sgd sgd({replay.weight, replay.bias}, {.lr = 0.05, .momentum = 0.8, .nesterov = true});
  replay.expect_run("nesterov", sgd);
}

TEST(Sgd, MatchesOneStepComputedByHand) {
  Tensor p = tensor({1, -2}, f32).requires_grad_();
  Sgd sgd({p}, {.lr = 0.5});
  p.set_grad(tensor({4, 2}, f32));
  sgd.step();
  EXPECT_TRUE(tensors_equal(p.detach(), tensor({-1, -3}, f32)));
}

TEST(Sgd, RefusesSettingsOutOfRange) {
  const Tensor p = zeros({2}).requires_grad_();
  EXPECT_TAPE_ERROR(Sgd({p}, {.lr = -1}), ErrorKind::config, "Sgd: lr must be a number >= 0, got -1");
  EXPECT_TAPE_ERROR(Sgd({p}, {.momentum = NAN}), ErrorKind::config, "Sgd: momentum must be a number >= 0, got nan");
  EXPECT_TAPE_ERROR(Sgd({p}, {.momentum = 0.9, .dampening = INFINITY}), ErrorKind::config,
                    "Sgd: dampening must be a number, got inf");
  EXPECT_TAPE_ERROR(Sgd({p}, {.weight_decay = -0.1}), ErrorKind::config,
                    "Sgd: weight_decay must be a number >= 0, got -0.1");
  EXPECT_TAPE_ERROR(Sgd({p}, {.nesterov = true}), ErrorKind::config,
                    "Sgd: nesterov needs momentum > 0 and no dampening, got momentum 0 and dampening 0");
  EXPECT_TAPE_ERROR(Sgd({p}, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}), ErrorKind::config,
                    "Sgd: nesterov needs momentum > 0 and no dampening, got momentum 0.9 and dampening 0.1");
}

}  // namespace
}  // namespace tape::optim
