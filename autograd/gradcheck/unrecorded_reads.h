#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../named_tensor.h"
#include "blame_step.h"
#include "replay.h"
#include "report.h"

namespace tape::detail {

/// Where values bypass the tape.
struct UnrecordedReads {
  std::vector<UnrecordedRead> reads;
  std::string not_finite;  // operation where the gradient becomes non-finite, "'log' (layer), called at ..."
};

/// Runs the function with all variables moved slightly and computes, for each step, the part of the change of its
/// outputs that its gradients do not explain: <w, dy> - sum <J^T w, dx>, with w the gradient that arrives from the
/// results. These parts add up to the error of the full gradient. A step has such a part if one of its constants or
/// attributes changes with the variables. It must appear again with a smaller move, so that a kink is not mistaken for
/// one; a deliberately detached value without effect (the maximum in a softmax) has none. `guilty` are steps whose own
/// gradients are wrong.
UnrecordedReads find_unrecorded_reads(const std::function<Tensors()>& f, const Replay& replay,
                                      const RunGradients& gradients, const std::vector<NamedTensor>& variables,
                                      const std::vector<GuiltyOperation>& guilty);

}  // namespace tape::detail
