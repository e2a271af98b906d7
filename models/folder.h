#pragma once

#include <memory>
#include <string>

#include "models/transformer.h"

namespace tape::models {

/// Writes `config.json` (the configuration) and `model.safetensors` (the values) into a folder, which is made where it
/// is missing. Error (io) naming the file.
void save_transformer(const std::string& folder, const Transformer& model);

/// Reads what save_transformer wrote. Every Error names the file: (io) for one that cannot be read; (format) or
/// (config) with the key for a configuration with an unknown, missing or ill-typed key, or a value the model refuses;
/// (format) with every tensor that does not fit.
std::unique_ptr<Transformer> load_transformer(const std::string& folder);

/// The configuration as JSON text, and back; `where` names the file in errors.
std::string to_json(const TransformerConfig& config);
TransformerConfig transformer_config_from_json(const std::string& text, const std::string& where);

}  // namespace tape::models
