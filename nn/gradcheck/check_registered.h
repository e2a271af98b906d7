#pragma once

#include <vector>

#include "../../autograd/gradcheck/report.h"
#include "../module/module.h"

namespace tape::nn {

/// The tensors with gradients that `loss` was computed from and that are neither parameters of `model` nor in `inputs`,
/// in the order in which they were first used. An example is a layer that is held as a plain member,
/// `nn::Linear b{4, 4};`, instead of as a Child: it gets gradients, but is not trained, saved or printed. Where and by
/// which line a tensor was first used is known where a Trace scope was open in the forward.
std::vector<UnregisteredTensor> find_unregistered(const Tensor& loss, const Module& model, const Tensors& inputs = {});

/// For a training loop of your own, between the forward and the backward of the first step. Error (config) lists what
/// find_unregistered() finds, ten at most and how many there are. Error (graph) where the loss has no graph, or a
/// backward has freed it.
///
///   const Tensor loss = cross_entropy(model(batch.x), batch.y);
///   if (step == 0) nn::check_registered(loss, model);
///   loss.backward();
void check_registered(const Tensor& loss, const Module& model, const Tensors& inputs = {});

}  // namespace tape::nn
