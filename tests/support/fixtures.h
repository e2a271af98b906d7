#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "autograd/tensor.h"

// What the scripts in tests/fixtures/ wrote.

namespace tape {

/// A file or folder in tests/fixtures/: fixture_path("hugging_face/bert").
std::string fixture_path(std::string_view name);

/// The JSON of a file in tests/fixtures/, read once.
const nlohmann::json& fixture_json(std::string_view name);

/// The tensors of tests/fixtures/NAME.safetensors, read once.
const std::map<std::string, Tensor>& fixture_tensors(std::string_view name);

}  // namespace tape
