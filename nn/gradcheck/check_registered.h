#pragma once

#include <vector>

#include "../../autograd/gradcheck/report.h"
#include "../module/module.h"

namespace tape::nn {

/// Returns the tensors with gradients that `loss` depends on and that are neither parameters of `model` nor in
/// `inputs`, in the order of first use. Example: a layer that is a plain member, `nn::Linear b{4, 4};`, instead of a
/// Child gets gradients but is not trained, saved or printed. The module path and source line of the first use are
/// known if a Trace scope was open in the forward pass.
std::vector<UnregisteredTensor> find_unregistered(const Tensor& loss, const Module& model, const Tensors& inputs = {});

/// For your own training loop, between forward and backward of the first step. Throws Error (config) with the list of
/// find_unregistered(), at most ten entries and the total. Throws Error (graph) if the loss has no graph or a backward
/// has freed it.
///
///   const Tensor loss = cross_entropy(model(batch.x), batch.y);
///   if (step == 0) nn::check_registered(loss, model);
///   loss.backward();
void check_registered(const Tensor& loss, const Module& model, const Tensors& inputs = {});

}  // namespace tape::nn
