#pragma once

#include <utility>
#include <vector>

#include "blame_step.h"
#include "report.h"

namespace tape::detail {

/// Treats the gradient functions of a run's steps as steps to be checked: the result of a step is then the gradients of
/// its slots for a random gradient of its outputs.
class GradientSteps {
 public:
  /// Runs the gradient function of a step's node on the step's current values.
  Replay::Probe probe();
  /// Must be called once, with the replay that uses the probe.
  RunGradients start(const Replay& replay, Generator& stream);
  /// Returns steps whose gradient function does not propagate derivatives to the incoming gradient. It is linear in
  /// that gradient, so it equals its derivative times it (Euler); these two are `analytic` and `numeric`.
  const std::vector<std::pair<size_t, GradcheckResult>>& not_linear() const { return not_linear_; }

 private:
  StepGradients differentiate(size_t step, const RecordedStep& recorded, Generator& stream);

  const RecordedStep* first_ = nullptr;  // of the replay
  std::vector<Tensors> arriving_;        // random gradients of each step's outputs
  std::vector<std::pair<size_t, GradcheckResult>> not_linear_;
};

}  // namespace tape::detail
