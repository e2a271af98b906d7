#pragma once

#include <string>

namespace tape {

/// A file or folder of the checkout, by its path from the root: source_path("autograd/tensor.h").
std::string source_path(const std::string& name);

}  // namespace tape
