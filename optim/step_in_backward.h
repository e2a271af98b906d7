#pragma once

#include <cstdint>
#include <vector>

#include "../autograd/tape/eager_grad_accumulation.h"
#include "../autograd/tape/leaf_hooks.h"
#include "optimizer.h"

namespace tape::optim {

/// While in scope, a backward() of this thread also is a step of the optimizer: each parameter is updated as soon as
/// its gradient is complete, and the gradient is freed. Only a few gradients are in memory at a time (Lv et al. 2023,
/// "Full Parameter Fine-tuning for Large Language Models with Limited Resources", section 3.2).
///
///     {
///       const StepInBackward stepping(adam);
///       loss.backward();  // no step(), no zero_grad()
///     }
///
/// The updated parameters are bitwise identical to those of step() after the backward. Global-norm clipping and
/// gradient accumulation are not supported. A second backward through the same tape fails, as after any step. Use one
/// scope per backward: grad_norm() and updated() count from its beginning.
///
/// The backward throws Error (numeric) with the parameter's name if a gradient contains NaN or infinity. Parameters
/// that came earlier are then updated already (updated()), later ones are not. The same holds if memory runs out or
/// anything else ends the backward.
class StepInBackward {
 public:
  /// Throws Error (config) if the optimizer keeps parts of its state. The optimizer must outlive this object.
  explicit StepInBackward(Optimizer& optimizer);
  StepInBackward(const StepInBackward&) = delete;
  StepInBackward& operator=(const StepInBackward&) = delete;

  /// Returns the Euclidean norm of all gradients so far.
  double grad_norm() const { return norm_; }
  /// Number of parameters updated.
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
