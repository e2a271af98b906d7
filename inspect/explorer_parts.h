#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

// What the explorer's data are made of, a file each.
namespace tape::inspect {

/// "tape": operations and leaves with values, gradients, contributions, what was saved, times and formulas. `guilty`
/// are those that a gradient check named.
nlohmann::ordered_json tape_json(const Recording& recording, const std::vector<GuiltyOperation>& guilty, int64_t side);
/// The number that a node has in the page: its place in recording order among the nodes shown.
std::vector<size_t> guilty_nodes(const Recording& recording, const GuiltyOperation& guilty);

/// What an attention module is between.
struct AttentionPlace {
  const char* kind;      ///< "encoder self", "decoder self" or "cross"
  size_t rows, columns;  ///< of which texts queries and keys are
};
AttentionPlace place_of(const Study& study, const std::string& module);

/// "attention": the steps of each attention module, all heads, with the gradients of each output.
nlohmann::ordered_json attention_json(const Recording& recording);

/// "layer_norms": some rows of each LayerNorm's last call.
nlohmann::ordered_json layer_norms_json(const Recording& recording);

}  // namespace tape::inspect
