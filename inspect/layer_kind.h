#pragma once

#include <functional>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "../nn/module/module.h"

namespace tape::inspect {

/// What a page has to know of a layer that it works out in numbers.
struct LayerKind {
  const char* list = "";                                  ///< of the page's data, that its calls stand in
  std::function<Tensor(const Tensor&)> again = {};        ///< the layer, of detached parameters
  std::function<nlohmann::ordered_json()> settings = {};  ///< what its formulas need beside the input
  bool first_call = false;  ///< shown is the first call: queries and keys turn one after the other
};

/// Of LayerNorm, RMSNorm, Activation and Rotary, which must live on; nothing for others.
std::optional<LayerKind> layer_kind(nn::Module& module);

}  // namespace tape::inspect
