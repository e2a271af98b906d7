#pragma once

#include "../../nn/position/rotary.h"
#include "../folders/config_keys.h"

/// The rotary position settings in config.json.
namespace tape::models::hugging_face {

/// Top-level key names that a model class used for rotary settings before transformers 5, and the default fraction.
struct RotaryKeys {
  const char* theta = "rope_theta";
  const char* fraction = "partial_rotary_factor";
  double default_fraction = 1;
};

/// Reads "rope_scaling", or "rope_parameters" if that is null or empty, and the top-level keys. Supports the types
/// default, linear, dynamic, llama3 and yarn. `max_length` is the model's max_position_embeddings. Throws Error
/// (config) naming the key for another type, a missing setting, or one that the type does not have.
nn::RotaryOptions read_rotary(const ConfigReader& config, int64_t max_length, const RotaryKeys& keys = {});

/// Writes the settings in both spellings, for transformers before and since 5.
void write_rotary(nlohmann::ordered_json& json, const nn::RotaryOptions& options, const RotaryKeys& keys = {});

}  // namespace tape::models::hugging_face
