#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

namespace tape::inspect {

/// What an attention module is between.
struct AttentionPlace {
  const char* kind;      ///< "encoder self", "decoder self" or "cross"
  size_t rows, columns;  ///< of which texts queries and keys are
};
AttentionPlace place_of(const Study& study, const std::string& module);

/// "attention": the steps of each attention module, all heads, with the gradients of each output; `all`: with values
/// and contexts, which no view needs.
nlohmann::ordered_json attention_json(const Recording& recording, bool all);
/// What attention_json() writes, for the size of the page.
Tensors attention_tensors(const Recording& recording, bool all);

}  // namespace tape::inspect
