#pragma once

#include <string>
#include <vector>

#include "../autograd/diagnose/tape_values.h"
#include "../autograd/gradcheck/gradcheck.h"

namespace tape {

struct DotOptions {
  std::vector<NamedTensor> names = {};  ///< what leaves are called, and where they stand: model.named_parameters()
  bool values = true;                   ///< with the range of each value that the tape or `names` holds
  bool gradients = true;                ///< with the range of each gradient that was gathered or retained
  const TapeValues* kept = nullptr;     ///< values and gradients of all operations that were recorded in its scope
};

/// The tape behind a loss in Graphviz's language, for `dot -Tsvg`: a box for each operation with the shapes of what it
/// gave and the ranges of values and gradients, an ellipse for each leaf, and an arrow from every input, in frames that
/// stand for the modules (known where a Trace scope was open). Nodes are numbered as they were recorded. Error (graph)
/// for a loss without a tape.
std::string to_dot(const Tensor& loss, const DotOptions& options = {});

}  // namespace tape
