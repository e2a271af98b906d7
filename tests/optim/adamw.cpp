#include "optim/adamw.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "tests/optim/replay.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::optim {
namespace {

TEST(AdamW, HundredStepsAsInPyTorch) {
  Replay replay;
  AdamW adamw({replay.weight, replay.bias}, {.lr = 0.02, .weight_decay = 0.3});
  replay.expect_run("adamw", adamw);
}

TEST(AdamW, HundredStepsWithGroupsAsInPyTorch) {
  Replay replay;
  AdamW adamw({{.parameters = {replay.weight}}, {.parameters = {replay.bias}, .lr_factor = 0.5, .weight_decay = 0}},
              {.lr = 0.02, .weight_decay = 0.3});
  replay.expect_run("groups", adamw);
}

TEST(AdamW, DecayAloneShrinksTheParameter) {
  Tensor p = tensor({8, -4}, f64).requires_grad_();
  AdamW adamw({p}, {.lr = 0.5, .weight_decay = 0.5});
  p.set_grad(zeros({2}, f64));
  adamw.step();
  EXPECT_TRUE(tensors_equal(p.detach(), tensor({6, -3}, f64)));
}

TEST(AdamW, NamesItselfInErrors) {
  const Tensor p = zeros({2}).requires_grad_();
  EXPECT_TAPE_ERROR(AdamW({p}, {.weight_decay = -1}), ErrorKind::config,
                    "AdamW: weight_decay must be a number >= 0, got -1");
}

}  // namespace
}  // namespace tape::optim
