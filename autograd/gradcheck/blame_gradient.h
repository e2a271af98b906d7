#pragma once

#include <utility>
#include <vector>

#include "blame_step.h"
#include "report.h"

namespace tape::detail {

/// The gradient functions of a run's steps, as steps to be checked: what a step gives is then the gradients of its
/// slots for a random gradient of its outputs.
class GradientSteps {
 public:
  /// Runs the gradient function of a step's node on the values that the step has at that moment.
  Replay::Probe probe();
  /// To be called once, with the replay that has the probe.
  RunGradients start(const Replay& replay, Generator& stream);
  /// Steps whose gradient function does not follow the gradient that arrives. It is linear in that one, so it equals
  /// its own derivative by it times it (Euler); analytic and numeric are the two.
  const std::vector<std::pair<size_t, GradcheckResult>>& not_linear() const { return not_linear_; }

 private:
  StepGradients differentiate(size_t step, const RecordedStep& recorded, Generator& stream);

  const RecordedStep* first_ = nullptr;  // of the replay
  std::vector<Tensors> arriving_;        // the random gradients of each step's outputs
  std::vector<std::pair<size_t, GradcheckResult>> not_linear_;
};

}  // namespace tape::detail
