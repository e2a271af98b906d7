#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "adapter_training.h"
#include "pretrained_decoder.h"

namespace tape::train {

/// What the bits of such a run depend on: the options, and the weights of the base model, which checkpoints do not
/// contain (settings.h).
nlohmann::ordered_json to_json(const AdapterTraining& adapters, const std::string& base);

/// What the bits of a run depend on: every option, and the files whose contents checkpoints do not have (settings.h).
nlohmann::ordered_json to_json(const DecoderInit& start);

}  // namespace tape::train
