#pragma once

#include <functional>

#include "autograd/custom.h"
#include "autograd/ops/elementwise/arithmetic.h"

namespace tape {

/// y = x^2 whose gradient 2x is altered by `spoil` before the tape receives it.
inline Tensor square_with_wrong_gradient(const Tensor& x, const std::function<Tensor(const Tensor&)>& spoil) {
  return custom(
      "square_with_wrong_gradient", {x}, [](const Tensors& in) { return in[0] * in[0]; },
      [spoil](const BackwardContext& c) -> Tensors { return {spoil(c.grad() * c.saved(0) * 2)}; });
}

}  // namespace tape
