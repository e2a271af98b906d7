#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

namespace tape::inspect {

/// Adds "layer_norms", "rms_norms", "activations" and "rotaries": the first rows of each such layer's input and output,
/// and of the gradients of both.
///
/// elements: of each tensor, at most, but no fewer than four rows; layers that the detail names have all of theirs.
void add_layers(nlohmann::ordered_json& data, const Recording& recording, int64_t elements);

/// What add_layers() writes of these tensors, for the size of the page.
Tensors layer_tensors(const Recording& recording, int64_t elements);

}  // namespace tape::inspect
