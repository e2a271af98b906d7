#pragma once

#include <string>

#include "../../nn/module/module.h"
#include "communicator.h"

// What ranks must have in common; each is called by all of them.

namespace tape::train {

/// Error (config) `what: rank 2 has ..., rank 0 has ...` on every rank where a text is not everywhere rank 0's: the
/// first line that differs is shown.
void check_same_text(Communicator& ranks, const std::string& what, const std::string& text);

/// Error (config) on every rank unless the models have parameters and buffers of the same names, shapes and dtypes.
void check_same_model(Communicator& ranks, const nn::Module& model);

/// Gives all ranks the parameters and buffers of rank 0.
void broadcast_values(Communicator& ranks, const nn::Module& model);

/// Error (graph) on every rank unless all hold the same parameters and buffers, bit for bit; `when` begins the message.
void check_same_values(Communicator& ranks, const nn::Module& model, const std::string& when);

}  // namespace tape::train
