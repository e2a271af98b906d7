#pragma once

#include <string>

#include "tensor.h"

namespace tape {

/// A tensor and its name, such as a parameter's path or an input's label.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace tape
