#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autograd/tensor.h"

// The cases that scripts in tests/fixtures/ wrote with case() of make_operations.py.

namespace tape {

using TorchCall = std::function<Tensors(const Tensors&)>;
using TorchCalls = std::map<std::string, TorchCall>;

/// Compares outputs and gradients of a case in f64 and f32; if `recorded`, also with the recorded backward.
void expect_as_pytorch(const std::string& fixture, const std::string& name, const TorchCall& call,
                       bool recorded = true);

/// Expects that the calls include every case of the fixture; keys in `others` are not cases.
void expect_all_called(const std::string& fixture, const TorchCalls& calls,
                       const std::vector<std::string>& others = {});

std::vector<std::string> case_names(const TorchCalls& calls);

}  // namespace tape
