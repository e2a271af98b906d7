#pragma once

#include <functional>

#include "../tape/tape.h"

namespace tape {

/// Activation checkpointing (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost", 3): fn(inputs), of
/// which the tape keeps the inputs alone. Nothing inside fn is recorded until backward() comes to it; then fn runs a
/// second time, recorded, and its nodes are replayed at once. So the memory of one part of a model is held at a time,
/// for the price of one more forward pass.
///
///     Tensor h = checkpoint([&layer, mask](const Tensors& in) { return layer(in[0], mask); }, {x});
///
/// Gradients are those without it, bit for bit: of the inputs, and of every tensor that fn captured, parameters or
/// others. Both runs see the same random streams (dropout drops the same values), the same Composed,
/// MatmulPrecisionScope and Trace scopes and the same module path; observers are told of both. Calls may be nested, and
/// create_graph differentiates again (nothing is saved then: the second run stays on the tape; second derivatives agree
/// but for rounding, as their terms come in another order).
///
/// fn is kept until then: what it captures by reference must still be there. It must do the same both times: what it
/// draws from a Generator of its own is drawn anew, and a module that it calls must not go from train() to eval() in
/// between. Inputs and outputs may be of any shape and dtype, or undefined. Error (graph) in backward() where a tensor
/// that needs gradients and that fn used was changed in place since, or where fn gives other shapes than the first
/// time.
///
/// What fn changes beside its outputs is its own to change once: batch_norm() and its layers leave their running
/// numbers as the first run moved them, and others ask recomputing().
Tensors checkpoint(const std::function<Tensors(const Tensors&)>& fn, const Tensors& inputs);
Tensor checkpoint(const std::function<Tensor(const Tensors&)>& fn, const Tensors& inputs);

}  // namespace tape
