#pragma once

#include <string>

namespace tape {

/// Returns the path of a file or folder of the checkout, given its path from the root:
/// source_path("autograd/tensor.h").
std::string source_path(const std::string& name);

}  // namespace tape
