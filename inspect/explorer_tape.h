#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

namespace tape::inspect {

/// How many elements of a tensor the page keeps where not all.
struct Limits {
  int64_t activations = 0;
  int64_t parameters = 0;
  int64_t layers = 0;  // of what add_layers() writes
};

/// "tape": operations and leaves with values, gradients, contributions, what was saved, times and formulas. `guilty`
/// are those that a gradient check named.
nlohmann::ordered_json tape_json(const Recording& recording, const std::vector<GuiltyOperation>& guilty,
                                 const Limits& limits);
/// How many bytes the values of tape_json() take in a page, each that stands there more than once counted once, with
/// those that stand beside them, which the tape keeps whole too.
int64_t bytes_of_values(const Recording& recording, const Limits& limits, const Tensors& beside);
/// The number that a node has in the page: its place in recording order among the nodes shown.
std::vector<size_t> guilty_nodes(const Recording& recording, const GuiltyOperation& guilty);

}  // namespace tape::inspect
