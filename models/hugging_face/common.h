#pragma once

#include "../config_reader.h"

namespace tape::models::hugging_face {

/// An activation by the name that transformers gives it.
nn::ActivationKind read_activation(const ConfigReader& config, const char* key, const char* otherwise);
std::string activation_name(nn::ActivationKind kind);

/// The keys that every config.json begins with.
nlohmann::ordered_json begin_config(const char* architecture, const char* model_type, DType dtype);

}  // namespace tape::models::hugging_face
