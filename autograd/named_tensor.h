#pragma once

#include <string>

#include "tensor.h"

namespace tape {

/// A tensor with the name it goes by: a parameter's path, an input's label.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace tape
