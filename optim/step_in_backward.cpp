#include "optim/step_in_backward.h"

#include <cmath>

#include "autograd/shape.h"
#include "base/error.h"
#include "optim/clip.h"

namespace tape::optim {

StepInBackward::StepInBackward(Optimizer& optimizer) : optimizer_(optimizer), parameters_(optimizer.parameters()) {
  if (optimizer.is_sharded())
    raise(ErrorKind::config,
          "StepInBackward: not supported after shard_state(), because gradients come from several processes");
  for (size_t i = 0; i < parameters_.size(); ++i)
    hooks_.add(parameters_[i], [this, i](Tensor& gradient) { update(i, gradient); });
}

void StepInBackward::update(size_t number, Tensor& gradient) {
  try {
    norm_ = std::hypot(norm_, optim::grad_norm({parameters_[number]}));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    raise(ErrorKind::numeric,
          "StepInBackward: the gradient of {} contains NaN or infinity; {} of {} parameters were updated before it",
          optimizer_.label(number), updated_, parameters_.size());
  }
  optimizer_.step_parameter(number, {.known_finite = true});
  gradient = Tensor();
  ++updated_;
}

}  // namespace tape::optim
