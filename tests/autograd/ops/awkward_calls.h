#pragma once

#include "tests/autograd/ops/torch_fixture.h"

namespace tape {

/// Calls of the cases in tests/fixtures/make_awkward_points.py, by name.
TorchCalls awkward_calls();

}  // namespace tape
