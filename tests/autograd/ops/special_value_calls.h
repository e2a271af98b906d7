#pragma once

#include "tests/autograd/ops/torch_fixture.h"

namespace tape {

/// Calls of the cases in tests/fixtures/make_special_values.py, by name.
TorchCalls special_value_calls();

}  // namespace tape
