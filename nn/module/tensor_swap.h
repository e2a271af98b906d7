#pragma once

#include <unordered_map>

#include "module.h"

namespace tape::nn {

/// While in scope, a module's parameters and buffers are other tensors: to run it with values that are themselves on
/// the tape, for derivatives with respect to parameters of any order.
class TensorSwap : NonCopyable {
 public:
  /// `replacements` by the tensor they stand for; all names of a tied one change together.
  TensorSwap(Module& module, const std::unordered_map<const TensorImpl*, Tensor>& replacements);
  ~TensorSwap();

 private:
  std::vector<std::pair<Tensor*, Tensor>> originals_;
};

}  // namespace tape::nn
