#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "autograd/tensor.h"

// What the scripts in tests/fixtures/ wrote.

namespace tape {

/// A file or folder in tests/fixtures/: fixture_path("hugging_face/bert").
std::string fixture_path(const std::string& name);

/// The JSON of a file in tests/fixtures/, read once.
const nlohmann::json& fixture_json(const std::string& name);

/// The tensors of tests/fixtures/NAME.safetensors, read once.
const std::map<std::string, Tensor>& fixture_tensors(const std::string& name);

}  // namespace tape
