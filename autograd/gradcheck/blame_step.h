#pragma once

#include <string>
#include <vector>

#include "../random.h"
#include "replay.h"

namespace tape::detail {

/// The relative error of a step's gradient that counts as wrong.
inline constexpr double kBlameTolerance = 1e-5;

/// What one recorded step is checked with.
struct StepGradients {
  Tensors values;  // what is differentiated: its outputs; empty where the step is not checked
  Tensors head;    // weights of the values
  Tensors slots;   // the gradient of the weighted sum by each slot, as the tape has it
};

/// What its gradient function gives for each slot of a step whose node is `node`: the sum over the inputs that the slot
/// is.
Tensors own_gradients(const RecordedStep& step, const Node& node, const Tensors& head);

/// The gradients of every step of a run, for random heads. A head is zero where no gradient arrives from the run's
/// results: there a gradient function may give what it likes.
struct RunGradients {
  RunGradients() = default;
  RunGradients(const Replay& replay, Generator& stream);

  std::vector<StepGradients> steps;  // as many as the run has
  std::vector<Tensors> arrived;      // what arrives at each step; empty where nothing does, and where it is not checked
  int64_t checked = 0;
  int64_t other_dtypes = 0;         // not checked because they have inputs or outputs that are not f64
  std::vector<std::string> frozen;  // "row 0 of 'embedding' (src_embedding)": left out of the heads
};

}  // namespace tape::detail
