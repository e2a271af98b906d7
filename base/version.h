#pragma once

#include <string_view>

namespace tape {

/// Of the library, as in its CMake project: "0.2.0".
std::string_view version();

}  // namespace tape
