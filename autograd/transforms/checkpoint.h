#pragma once

#include <functional>

#include "../tape/tape.h"

namespace tape {

/// Activation checkpointing (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost", 3): computes fn(inputs)
/// and saves only the inputs. Nothing inside fn is recorded at first. When backward() reaches it, fn runs again,
/// recorded, and its nodes are differentiated immediately. Only one segment's activations are thus in memory at a time,
/// at the cost of one more forward pass.
///
///     Tensor h = checkpoint([&layer, mask](const Tensors& in) { return layer(in[0], mask); }, {x});
///
/// Gradients of the inputs and of every captured tensor that requires them are bitwise identical to those without
/// checkpointing. Both runs see the same random streams (dropout drops the same values), the same Composed,
/// MatmulPrecisionScope and Trace scopes and the same module path; observers see both runs. Calls may be nested. With
/// create_graph nothing is saved, since the second run stays on the tape; second derivatives then agree up to rounding,
/// because their terms are summed in another order.
///
/// fn is stored until the backward, so whatever it captures by reference must live that long. It must do the same in
/// both runs: it must not draw from a Generator of its own, which would give new values, and modules that it calls must
/// not switch between train() and eval(). Inputs and outputs may have any shape and dtype, or be undefined. backward()
/// throws Error (graph) if a tensor that requires gradients and that fn used was modified in place, or if fn returns
/// other shapes than the first time.
///
/// Side effects of fn must happen only once: batch_norm() and its layers update their running statistics only in the
/// first run; other code can check recomputing().
/// @{
Tensors checkpoint(const std::function<Tensors(const Tensors&)>& fn, const Tensors& inputs);
Tensor checkpoint(const std::function<Tensor(const Tensors&)>& fn, const Tensors& inputs);
/// @}

}  // namespace tape
