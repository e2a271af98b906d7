#pragma once

#include <cstdint>
#include <vector>

#include "../autograd/tape/eager_grad_accumulation.h"
#include "../autograd/tape/leaf_hooks.h"
#include "optimizer.h"

namespace tape::optim {

/// While in scope, a backward() of this thread is a step of the optimizer, too: each parameter is updated as soon as
/// its gradient is whole, and the gradient dropped. So gradients of few parameters are in memory at a time, in place of
/// all (Lv et al. 2023, "Full Parameter Fine-tuning for Large Language Models with Limited Resources", 3.2).
///
///     {
///       const StepInBackward stepping(adam);
///       loss.backward();  // no step(), no zero_grad()
///     }
///
/// The parameters are those of step() behind the backward, bit for bit. What needs all gradients at once is not to be
/// had: no clipping by their norm, and no sum over several batches. A second backward through the same tape is refused,
/// as behind every step. One backward a scope: grad_norm() and updated() count from its beginning.
///
/// Error (numeric) out of the backward, naming the parameter, where a gradient holds NaN or infinity. Parameters that
/// came before it (updated()) have been updated then, and those behind it have not; so it is where memory runs out, or
/// anything else ends the backward.
class StepInBackward {
 public:
  /// Error (config) where the optimizer keeps parts of its state. The optimizer must outlive this.
  explicit StepInBackward(Optimizer& optimizer);
  StepInBackward(const StepInBackward&) = delete;
  StepInBackward& operator=(const StepInBackward&) = delete;

  /// The Euclidean norm of the gradients so far, all together.
  double grad_norm() const { return norm_; }
  /// How many parameters have been updated.
  int64_t updated() const { return updated_; }

 private:
  void update(size_t number, Tensor& gradient);

  Optimizer& optimizer_;
  Tensors parameters_;
  LeafHooks hooks_;
  const EagerGradAccumulation early_;
  double norm_ = 0;
  int64_t updated_ = 0;
};

}  // namespace tape::optim
