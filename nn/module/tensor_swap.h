#pragma once

#include <unordered_map>

#include "module.h"

namespace tape::nn {

/// Replaces a module's parameters and buffers with other tensors while in scope, for example with tensors that are on
/// the tape, to take higher derivatives with respect to parameters.
class TensorSwap : NonCopyable {
 public:
  /// `replacements` maps each tensor to its replacement; all names of a tied tensor change together.
  TensorSwap(Module& module, const std::unordered_map<const TensorImpl*, Tensor>& replacements);
  ~TensorSwap();

 private:
  std::vector<std::pair<Tensor*, Tensor>> originals_;
};

}  // namespace tape::nn
