#pragma once

#include "../../autograd/transforms/per_sample.h"
#include "module.h"

namespace tape::nn {

/// Returns the gradient of each sample's loss with respect to every parameter of a module that is not frozen, by name:
/// [B, ... of the parameter]; see tape::per_sample_gradients().
///
///   const auto gradients = per_sample_gradients(model, [&](const Tensors& batch) {
///     return cross_entropy(model(batch[0]), batch[1], {.reduction = Reduction::none});
///   }, {x, targets});
inline std::vector<NamedTensor> per_sample_gradients(Module& module,
                                                     const std::function<Tensor(const Tensors& batch)>& losses,
                                                     const Tensors& batch, const PerSampleOptions& options = {}) {
  std::vector<NamedTensor> trained;
  for (const NamedTensor& parameter : module.named_parameters())
    if (parameter.tensor.requires_grad()) trained.push_back(parameter);
  return tape::per_sample_gradients(losses, trained, batch, options);
}

}  // namespace tape::nn
