#pragma once

#include <string>
#include <vector>

#include "../autograd/gradcheck/gradcheck.h"
#include "../autograd/tensor.h"

namespace tape {

struct ExplainOptions {
  Tensor loss = {};                     ///< follows the gradient from here, and looks for who saved the tensor
  std::vector<NamedTensor> names = {};  ///< what leaves are called: model.named_parameters()
  bool source = true;                   ///< with the line that called the operation, where a Trace scope was open
};

/// What a tensor is, in words for a person: dtype, shape and range of its values (NaN and infinity counted), the
/// operation that made it with module path and source line, what it was made of, which nodes of the tape saved it, its
/// gradient where there is one, and how many paths a gradient takes to it from the loss, the shortest one step by step.
/// Nodes are numbered as they were recorded. Only what was recorded before `loss` (without one: before the tensor) can
/// be seen. Error (graph) for a loss without a tape.
std::string explain(const Tensor& tensor, const ExplainOptions& options = {});
std::string explain(const Tensor& tensor, const Tensor& loss);

}  // namespace tape
