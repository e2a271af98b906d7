#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

namespace tape::inspect {

/// "tape": operations and leaves with values, gradients, contributions, what was saved, times and formulas. `guilty`
/// are those that a gradient check named.
nlohmann::ordered_json tape_json(const Recording& recording, const std::vector<GuiltyOperation>& guilty, int64_t side);
/// The number that a node has in the page: its place in recording order among the nodes shown.
std::vector<size_t> guilty_nodes(const Recording& recording, const GuiltyOperation& guilty);

}  // namespace tape::inspect
