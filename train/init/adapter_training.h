#pragma once

#include <string>
#include <vector>

#include "../../models/adapters/part.h"

// Runs that train adapters instead of the whole model.
namespace tape::train {

/// Adapters (nn/lora.h) to train instead of the model.
struct AdapterTraining {
  nn::LoraOptions lora = {.rank = 8, .alpha = 16};
  /// The Linear layers that get one, as patterns for nn::add_adapter; default as in Hu et al. 2021, 4.2.
  std::vector<std::string> targets = {"query", "value"};
};

/// Adds adapters and freezes everything else except the modules `whole`, which are trained in full. A head gets no
/// adapter. Throws the errors of models::add_adapter.
void begin_adapters(const models::AdapterPart& part, const AdapterTraining& adapters,
                    const std::vector<std::string>& whole = {});
/// Writes only the adapters and the fully trained modules, in peft's format.
void save_adapters(const std::string& folder, const models::AdapterPart& part, const std::string& base);
/// The model's values, updated with those of such a folder.
nn::StateDict with_adapters(nn::StateDict values, const std::string& folder, const models::AdapterPart& part);

}  // namespace tape::train
