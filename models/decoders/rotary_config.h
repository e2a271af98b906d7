#pragma once

#include "../../nn/position/rotary.h"
#include "../folders/config_keys.h"

/// How config.json says by which angles rotary positions turn.
namespace tape::models::hugging_face {

/// What a class of model calls its numbers where they stand beside the others, as releases before 5 wrote them, and the
/// fraction that it has where none is given.
struct RotaryKeys {
  const char* theta = "rope_theta";
  const char* fraction = "partial_rotary_factor";
  double default_fraction = 1;
};

/// "rope_scaling", or "rope_parameters" where that is null or empty, and what stands beside it: of the types default,
/// linear, dynamic, llama3 and yarn. `max_length` is the model's max_position_embeddings. Error (config) naming the key
/// for another type, what is missing of one, and what is of none.
nn::RotaryOptions read_rotary(const ConfigReader& config, int64_t max_length, const RotaryKeys& keys = {});

/// Adds it in both spellings, for releases before and since 5.
void write_rotary(nlohmann::ordered_json& json, const nn::RotaryOptions& options, const RotaryKeys& keys = {});

}  // namespace tape::models::hugging_face
