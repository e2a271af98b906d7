#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../nn/module/module.h"
#include "../../optim/optimizer.h"

namespace tape::train {

// An optimizer's state numbers its parameters in the order of its groups, so parameters have other numbers when a run
// resumes with other groups.

/// Names of an optimizer's parameters, by number; empty if the model does not have all of them.
std::vector<std::string> optimizer_order(const nn::Module& model, const optim::Optimizer& optimizer);

/// An Optimizer::state_dict() for an optimizer whose parameters are now in another order, or only partly the same: a
/// new one begins without state. Settings of single groups are left out if the order is another one. Returns the state
/// unchanged if an order is empty.
std::map<std::string, Tensor> renumbered(const std::map<std::string, Tensor>& state,
                                         const std::vector<std::string>& then, const std::vector<std::string>& now);

}  // namespace tape::train
