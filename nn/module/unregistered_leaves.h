#pragma once

#include <string>
#include <vector>

#include "../../autograd/gradcheck/report.h"
#include "../../autograd/tape/tape.h"
#include "module.h"

namespace tape::nn::detail {

/// Returns the leaves that the results depend on and that do not belong to a known tensor.
std::vector<const Node*> unregistered_leaves(const Tensors& results, const Tensors& known);

/// Returns descriptions of the leaves that the results depend on, in the order of first use.
std::vector<UnregisteredTensor> describe_leaves(const Tensors& results, const std::vector<const Node*>& leaves);

/// Throws Error (config) with a list of the tensors, if there are any.
void raise_unregistered(const std::string& operation, const Module& model,
                        const std::vector<UnregisteredTensor>& tensors, const std::string& advice);

}  // namespace tape::nn::detail
