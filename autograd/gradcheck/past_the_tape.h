#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../named_tensor.h"
#include "blame_step.h"
#include "replay.h"
#include "report.h"

namespace tape::detail {

/// Where the derivative of a function leaves its tape.
struct PastTheTape {
  std::vector<UnrecordedRead> reads;
  std::string not_finite;  // the operation at which the gradient is no longer finite, "'log' (layer), called at ..."
};

/// Runs the function with all variables moved by little, and looks at each step for a part of the change of its outputs
/// that its gradients do not explain: <w, dy> - sum <J^T w, dx>, with w the gradient that arrives from the results. The
/// parts of all steps add up to the error of the whole gradient. A step has such a part where a constant or attribute
/// of it changes with the variables. It is found again with a smaller move, so that no kink is taken for one; a value
/// cut off on purpose that does not count (the maximum in a softmax) has none. `guilty` are steps whose gradients are
/// wrong by themselves.
PastTheTape find_past_the_tape(const std::function<Tensors()>& f, const Replay& replay, const RunGradients& gradients,
                               const std::vector<NamedTensor>& variables, const std::vector<GuiltyOperation>& guilty);

}  // namespace tape::detail
