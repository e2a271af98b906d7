#pragma once

#include <string>
#include <vector>

#include "../../autograd/gradcheck/report.h"
#include "../../autograd/tape/tape.h"
#include "module.h"

namespace tape::nn::detail {

/// The leaves that the results were computed from and that are no node of a known tensor.
std::vector<const Node*> unregistered_leaves(const Tensors& results, const Tensors& known);

/// What is known of leaves behind the results, in the order in which they were first used.
std::vector<UnregisteredTensor> describe_leaves(const Tensors& results, const std::vector<const Node*>& leaves);

/// Error (config) that lists the tensors, where there are any.
void raise_unregistered(const std::string& operation, const Module& model,
                        const std::vector<UnregisteredTensor>& tensors, const std::string& advice);

}  // namespace tape::nn::detail
