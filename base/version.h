#pragma once

#include <string_view>

namespace tape {

/// Version of the library, from its CMake project: "0.2.0".
std::string_view version();

}  // namespace tape
