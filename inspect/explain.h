#pragma once

#include <string>
#include <vector>

#include "../autograd/gradcheck/gradcheck.h"
#include "../autograd/tensor.h"

namespace tape {

/// Options of explain().
struct ExplainOptions {
  Tensor loss = {};                     ///< follow the gradient from here, and search its tape for nodes that saved it
  std::vector<NamedTensor> names = {};  ///< names of leaves: model.named_parameters()
  bool source = true;                   ///< print the line that called the operation, if a Trace scope was open
};

/// Describes a tensor in words: dtype, shape and range of its values (with counts of NaN and infinity), the operation
/// that made it with module path and source line, the inputs of that operation, the nodes of the tape that saved it,
/// its gradient if it has one, the number of paths from the loss to it, and the shortest of these step by step.
/// Nodes are numbered in recording order. Only nodes recorded before `loss` (before the tensor if there is no loss) are
/// visible. Throws Error (graph) if the loss is not on a tape.
std::string explain(const Tensor& tensor, const ExplainOptions& options = {});
/// explain() with only ExplainOptions::loss set.
std::string explain(const Tensor& tensor, const Tensor& loss);

}  // namespace tape
