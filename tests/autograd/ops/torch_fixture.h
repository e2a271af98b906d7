#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autograd/tensor.h"

// The cases that scripts in tests/fixtures/ wrote by case() of make_operations.py.

namespace tape {

using TorchCall = std::function<Tensors(const Tensors&)>;
using TorchCalls = std::map<std::string, TorchCall>;

/// Outputs and gradients of a case in f64 and f32; where `recorded`, with the recorded backward besides the kernels'.
void expect_as_pytorch(const std::string& fixture, const std::string& name, const TorchCall& call,
                       bool recorded = true);

/// Every case of the fixture is in the calls; keys of `others` are no cases.
void expect_all_called(const std::string& fixture, const TorchCalls& calls,
                       const std::vector<std::string>& others = {});

std::vector<std::string> case_names(const TorchCalls& calls);

}  // namespace tape
