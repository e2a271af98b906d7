#pragma once

#include "module/child.h"

namespace tape::nn {

/// y = x, a placeholder for a layer that a model leaves out.
class Identity : public Layer<Identity> {
 public:
  /// Returns x itself.
  Tensor forward(const Tensor& x) const { return x; }
};

}  // namespace tape::nn
