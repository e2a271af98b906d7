#pragma once

#include <string>

#include "tensor.h"

namespace tape {

/// A tensor and its name, such as a parameter's path or an input's label.
struct NamedTensor {
  std::string name;  ///< as in "encoder.layers.0.linear1.weight"
  Tensor tensor;     ///< a handle; the values are shared
};

}  // namespace tape
