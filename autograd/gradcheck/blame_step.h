#pragma once

#include <string>
#include <vector>

#include "../random.h"
#include "replay.h"

namespace tape::detail {

/// Relative error from which a step's gradient counts as wrong.
inline constexpr double kBlameTolerance = 1e-5;

/// Data for checking one recorded step.
struct StepGradients {
  Tensors values;  // its outputs, which are differentiated; empty if the step is not checked
  Tensors head;    // weights of the values
  Tensors slots;   // the tape's gradient of the weighted sum with respect to each slot
};

/// Returns the result of the gradient function of `node` for each slot of the step: the sum over the inputs that share
/// the slot.
Tensors own_gradients(const RecordedStep& step, const Node& node, const Tensors& head);

/// Gradients of every step of a run, for random heads. A head is zero where no gradient arrives from the run's results,
/// because a gradient function may return anything there.
struct RunGradients {
  RunGradients() = default;
  RunGradients(const Replay& replay, Generator& stream);

  std::vector<StepGradients> steps;  // one per step of the run
  std::vector<Tensors> arrived;      // gradients that arrive at each step; empty if none do or the step is not checked
  int64_t checked = 0;
  int64_t other_dtypes = 0;         // number of steps skipped because they have inputs or outputs that are not f64
  std::vector<std::string> frozen;  // rows excluded from the heads, as in "row 0 of 'embedding' (src_embedding)"
};

}  // namespace tape::detail
