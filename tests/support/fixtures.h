#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "autograd/tensor.h"

// Access to the files that the scripts in tests/fixtures/ wrote.

namespace tape {

/// Returns the path of a file or folder in tests/fixtures/: fixture_path("hugging_face/bert").
std::string fixture_path(std::string_view name);

/// Returns the JSON of a file in tests/fixtures/, which is read once.
const nlohmann::json& fixture_json(std::string_view name);

/// Returns the tensors of tests/fixtures/NAME.safetensors, which is read once.
const std::map<std::string, Tensor>& fixture_tensors(std::string_view name);

}  // namespace tape
