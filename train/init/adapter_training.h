#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "../../models/adapters/part.h"

// Runs that train adapters in place of a model.
namespace tape::train {

/// Adapters (nn/lora.h) that are trained in place of the model.
struct AdapterTraining {
  nn::LoraOptions lora = {.rank = 8, .alpha = 16};
  /// Which Linear layers have one, as nn::add_adapter takes them; those of Hu et al. 2021, 4.2.
  std::vector<std::string> targets = {"query", "value"};
};

/// What the bits of such a run depend on: the options, and the weights of the model below, which no checkpoint holds
/// (settings.h).
nlohmann::ordered_json to_json(const AdapterTraining& adapters, const std::string& base);

/// Adds them, and holds everything else still but the modules `whole`, which are trained as they are. A head has none.
/// Errors as models::add_adapter.
void begin_adapters(const models::AdapterPart& part, const AdapterTraining& adapters,
                    const std::vector<std::string>& whole = {});
/// Writes them alone, and what is trained whole, in peft's folder.
void save_adapters(const std::string& folder, const models::AdapterPart& part, const std::string& base);
/// A model's values with those that such a folder holds of the part.
nn::StateDict with_adapters(nn::StateDict values, const std::string& folder, const models::AdapterPart& part);

}  // namespace tape::train
