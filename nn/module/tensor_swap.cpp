#include "nn/module/tensor_swap.h"

namespace tape::nn {

TensorSwap::TensorSwap(Module& module, const std::unordered_map<const TensorImpl*, Tensor>& replacements) {
  module.visit([&](const std::string&, const Module::Entry& entry) {
    Tensor* const slot = entry.parameter ? entry.parameter : entry.buffer;
    if (!slot || !slot->defined()) return;
    const auto found = replacements.find(slot->ref().get());
    if (found == replacements.end()) return;
    originals_.emplace_back(slot, found->second);
  });
  for (auto& [slot, other] : originals_) std::swap(*slot, other);
}

TensorSwap::~TensorSwap() {
  for (auto& [slot, original] : originals_) std::swap(*slot, original);
}

}  // namespace tape::nn
