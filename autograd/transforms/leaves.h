#pragma once

#include <functional>
#include <vector>

#include "../tensor.h"

namespace tape {

// What functions of functions (derivatives.h, jacobian.h) share.

inline bool differentiable(const Tensor& x) { return x.defined() && is_floating(x.dtype()); }

/// Inputs as leaves of their own.
struct Leaves {
  explicit Leaves(const Tensors& inputs);
  /// What was found for each of x, in the place of its input; undefined for others.
  Tensors at_places(const Tensors& found) const;

  Tensors all;                 ///< as many as inputs: those without gradients as they are
  Tensors x;                   ///< the leaves
  std::vector<size_t> places;  ///< of the leaves among all
};

/// f(inputs). Error (dtype) `operation: ...` where that is no f32 or f64.
Tensor value_of(const char* operation, const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs);

/// The derivative of the outputs with respect to x, weighted; zeros where nothing depends on it. Outputs that are
/// undefined or constant count as such. The tape stays; the results have no history.
Tensors weighted_gradients(const Tensors& outputs, const Tensors& weights, const Tensors& x);

}  // namespace tape
