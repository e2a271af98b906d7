#pragma once

#include <string>

#include "../../nn/module/module.h"
#include "communicator.h"

// Checks that ranks agree. All ranks must call each function.

namespace tape::train {

/// Throws Error (config) `what: rank 2 has ..., rank 0 has ...` on every rank unless all ranks have rank 0's text. The
/// message contains the first line that differs.
void check_same_text(Communicator& ranks, const std::string& what, const std::string& text);

/// Throws Error (config) on every rank unless all models have the same parameter and buffer names, shapes and dtypes.
void check_same_model(Communicator& ranks, const nn::Module& model);

/// Broadcasts the values of rank 0. All ranks must have the same names, shapes and dtypes.
void broadcast_values(Communicator& ranks, const nn::StateDict& state);

/// Throws Error (graph) on every rank unless all parameters and buffers are bitwise equal; `when` begins the message.
void check_same_values(Communicator& ranks, const nn::Module& model, const std::string& when);

}  // namespace tape::train
