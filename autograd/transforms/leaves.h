#pragma once

#include <functional>
#include <vector>

#include "../tensor.h"

namespace tape {

// What functions of functions (derivatives.h, jacobian.h) share.

inline bool differentiable(const Tensor& x) { return x.defined() && is_floating(x.dtype()); }

/// Inputs as leaves of their own; those without gradients as they are. `chosen` lists the leaves, `places` whose they
/// are.
Tensors make_leaves(const Tensors& inputs, Tensors& chosen, std::vector<size_t>& places);

/// f(inputs). Error (dtype) `operation: ...` where that is no f32 or f64.
Tensor value_of(const char* operation, const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs);

/// The derivative of the outputs with respect to x, weighted; zeros where nothing depends on it. Outputs that are
/// undefined or constant count as such. The tape stays; the results have no history.
Tensors weighted_gradients(const Tensors& outputs, const Tensors& weights, const Tensors& x);

}  // namespace tape
