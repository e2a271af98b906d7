#pragma once

#include <functional>
#include <vector>

#include "../tensor.h"

namespace tape {

// Helpers of the functional transforms (derivatives.h, jacobian.h).

inline bool differentiable(const Tensor& x) { return x.defined() && is_floating(x.dtype()); }

/// The inputs, detached; those with gradients become leaves.
struct Leaves {
  explicit Leaves(const Tensors& inputs);
  /// Maps results for x to the positions of the inputs; undefined for the others.
  Tensors scatter_to_inputs(const Tensors& found) const;

  Tensors all;                 ///< one per input
  Tensors x;                   ///< the leaves among them
  std::vector<size_t> places;  ///< positions of the leaves in `all`
};

/// Returns f(inputs). Throws Error (dtype) `operation: ...` unless it is f32 or f64.
Tensor call_checked(const char* operation, const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs);

/// The weighted derivative of the outputs with respect to x. Undefined or constant outputs contribute nothing; x that
/// nothing depends on get zeros. The tape is retained; the results have no history.
Tensors weighted_gradients(const Tensors& outputs, const Tensors& weights, const Tensors& x);

}  // namespace tape
