#pragma once

#include "../layout.h"
#include "../t5.h"
#include "common.h"

/// T5ForConditionalGeneration and MT5ForConditionalGeneration of transformers; Flan-T5 is the former.
namespace tape::models::hugging_face {

/// tie_output is what config.json says; a file with a matrix of the output's own has the last word (with_own_output()).
T5Config read_t5_config(const ConfigReader& config, T5Kind kind);
/// Error (config) for an activation that "feed_forward_proj" has no name for: a gate of exact gelu.
nlohmann::ordered_json config_json(const T5Config& config, DType dtype);
inline nlohmann::ordered_json config_json(const T5& model, DType dtype) { return config_json(model.config(), dtype); }
Layout t5_layout(const T5Config& config);

/// As transformers ties since release 5, whose config.json always says so: where the file has no matrix of the output,
/// or the table once more.
T5Config with_own_output(T5Config config, const std::map<std::string, Tensor>& tensors);

}  // namespace tape::models::hugging_face
