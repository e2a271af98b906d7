#pragma once

#include <string>
#include <vector>

#include "../named_tensor.h"
#include "gradcheck.h"
#include "replay.h"

namespace tape::detail {

/// Recorded operations of a function whose gradients are wrong for their own inputs, and further findings.
struct Verdict {
  std::vector<GuiltyOperation> guilty;
  std::vector<UnrecordedRead> unrecorded;
  std::string text;
};

/// Whether operations can be checked one by one, which is done on the CPU only; if not, explains it in report.blame.
bool can_find_guilty(const std::vector<NamedTensor>& variables, GradcheckReport& report);

/// Checks every operation of a run on its own, in f64: compares its gradient function, on the values of the run and a
/// random head (zero where no gradient arrives), with central differences of its outputs (computed by Replay). First
/// checks all operations at once, along random directions of each input. Operations that deviate are then checked by
/// element: 128 random elements of each input and, if these are right, one found by bisection. If some are guilty, the
/// same is done in a Composed scope, to find the wrong step of a fused operation.
///
/// A step whose constants or attributes change as its input moves (`x / x.detach()`) is not judged, because its outputs
/// do not depend on the moved input alone. find_unrecorded_reads() reports values that change with the variables but
/// are used as constants.
Verdict find_guilty(const std::function<Tensors()>& f, uint64_t seed, const std::vector<NamedTensor>& variables = {});

/// The same for second derivatives: finds recorded operations of f whose gradient functions are right but cannot be
/// differentiated, because their own gradients, recorded with create_graph, do not match differences of their results.
/// Guilty ones have derivative == second.
Verdict find_guilty_gradient(const std::function<Tensors()>& f, uint64_t seed);

}  // namespace tape::detail
