#pragma once

#include <string>
#include <vector>

#include "../named_tensor.h"
#include "gradcheck.h"
#include "replay.h"

namespace tape::detail {

/// Which recorded operations of a function have gradients that are not those of their own inputs, and what else there
/// is to say.
struct Verdict {
  std::vector<GuiltyOperation> guilty;
  std::vector<UnrecordedRead> unrecorded;
  std::string text;
};

/// Checks every operation of a run by itself, in f64: its gradient function on the values of the run and a random head
/// (zero where no gradient arrives), against central differences of its own outputs (Replay computes them). First all
/// operations at once, along random directions of each input; those that miss are then checked by element: 128 of each
/// input drawn at random and, where all of these are right, one that is found by halving. Where some are guilty, the
/// same is done in a Composed scope, which shows the steps of fused operations.
///
/// A step whose constants or attributes change as its input is moved (`x / x.detach()`) is not judged: its outputs are
/// not those of the moved input alone. Values that change with the variables and are used as constants are named by
/// find_past_the_tape().
Verdict find_guilty(const std::function<Tensors()>& f, uint64_t seed, const std::vector<NamedTensor>& variables = {});

/// The same one derivative higher: which recorded operations of f have gradient functions that are right but cannot be
/// differentiated: whose own gradients, recorded with create_graph, are not the differences of what they give. Guilty
/// ones have derivative == second.
Verdict find_guilty_gradient(const std::function<Tensors()>& f, uint64_t seed);

}  // namespace tape::detail
