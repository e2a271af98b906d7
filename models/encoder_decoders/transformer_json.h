#pragma once

#include "../folders/config_reader.h"
#include "../folders/layout.h"
#include "transformer.h"

namespace tape::models {

/// "model_type" of Transformers that transformers has no class for: pre-norm, or interleaved sines and cosines.
inline constexpr const char* kOwnModelType = "tapeformer-transformer";

/// Converts the configuration to JSON text and back. Throws Error (config) naming a missing, unknown or ill-typed key.
std::string to_json(const TransformerConfig& config);
TransformerConfig transformer_config_from_json(const ConfigReader& reader);

/// Layout of such a model's file: the parameters under their own names.
Layout transformer_layout(const TransformerConfig& config);

/// Layout of the files of transformers' classes, which all use the same names.
namespace hugging_face {
Layout marian_layout(const TransformerConfig& config);
}

}  // namespace tape::models
