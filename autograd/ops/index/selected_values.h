#pragma once

#include "../../create.h"
#include "../fused.h"
#include "index.h"

namespace tape {

/// Base of operations for fused() that select values along an axis. The outputs are the values and their positions
/// (i64), which are kept; each gradient goes back to its position.
struct SelectedValues {
  Shape from;  ///< of the input
  int64_t axis;
  Shape shape;  ///< of the values
  static constexpr bool saves_inputs = false;

  Results<2, 1> results(Inputs in) const {
    const Tensor positions = empty(shape, {i64, in[0].device()});
    return {{empty(shape, in[0].options()), positions}, {positions}};
  }
  template <class T>
  static int64_t* positions(const ForwardCall<T>& c) {
    return c.template kept_as<int64_t>(0);
  }
  Tensors gradients(const BackwardContext& c) const {
    return {scatter_add(zeros(from, c.grad().options()), axis, c.saved(0), c.grad())};
  }
};

}  // namespace tape
