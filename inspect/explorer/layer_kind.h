#pragma once

#include <functional>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "../../nn/module/module.h"

namespace tape::inspect {

/// Description of a layer type whose computation a page shows in numbers.
struct LayerKind {
  const char* list = "";                                  ///< key of the page's data that lists its calls
  std::function<Tensor(const Tensor&)> recompute = {};    ///< recomputes the layer with detached parameters
  std::function<nlohmann::ordered_json()> settings = {};  ///< what its formulas need in addition to the input
  bool first_call = false;                                ///< show the first call: queries are rotated before keys
};

/// Supports LayerNorm, RMSNorm, Activation and Rotary, which must outlive the result; nullopt for other modules.
std::optional<LayerKind> layer_kind(nn::Module& module);

}  // namespace tape::inspect
