#pragma once

#include "../folders/config_reader.h"
#include "../folders/layout.h"
#include "transformer.h"

namespace tape::models {

/// "model_type" of Transformers that transformers has no class for: norms in front, or positions in turn.
inline constexpr const char* kOwnModelType = "tapeformer-transformer";

/// The configuration as JSON text, and back. Error (config) naming the key for a missing, unknown or ill-typed one.
std::string to_json(const TransformerConfig& config);
TransformerConfig transformer_config_from_json(const ConfigReader& reader);

/// The tensors of such a model's file: the parameters under their own names.
Layout transformer_layout(const TransformerConfig& config);

/// The tensors of the files of transformers' classes, which all have the same names.
namespace hugging_face {
Layout marian_layout(const TransformerConfig& config);
}

}  // namespace tape::models
