#pragma once

#include <string>
#include <vector>

#include "../../autograd/diagnose/tape_values.h"
#include "../../autograd/gradcheck/gradcheck.h"

namespace tape {

/// Options of to_dot().
struct DotOptions {
  std::vector<NamedTensor> names = {};  ///< names and module paths of leaves: model.named_parameters()
  bool values = true;                   ///< print the range of each value that the tape or `names` holds
  bool gradients = true;                ///< print the range of each gradient that was accumulated or retained
  const TapeValues* kept = nullptr;     ///< values and gradients of all operations recorded in its scope
};

/// Returns the tape of a loss as a Graphviz graph, for `dot -Tsvg`: a box per operation with its output shapes and the
/// ranges of values and gradients, an ellipse per leaf, an arrow from every input, and a frame per module (known if a
/// Trace scope was open). Nodes are numbered in recording order. Throws Error (graph) if the loss is not on a tape.
std::string to_dot(const Tensor& loss, const DotOptions& options = {});

}  // namespace tape
