#pragma once

#include "../bart.h"
#include "../layout.h"
#include "common.h"

/// BartForConditionalGeneration and MBartForConditionalGeneration of transformers.
namespace tape::models::hugging_face {

BartConfig read_bart_config(const ConfigReader& config, BartKind kind);
nlohmann::ordered_json config_json(const BartConfig& config, DType dtype);
inline nlohmann::ordered_json config_json(const Bart& model, DType dtype) { return config_json(model.config(), dtype); }
Layout bart_layout(const BartConfig& config);

}  // namespace tape::models::hugging_face
