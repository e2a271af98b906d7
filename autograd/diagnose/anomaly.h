#pragma once

#include "../tape/tape.h"

namespace tape {

/// While in scope, the first operation recorded by this thread that produces NaN or infinity, or whose gradient
/// function does, throws Error (numeric) with the module it ran in:
///
///     decoder.layers.2.norm: log: produced -inf at [1, 0] of [2, 3], from finite inputs
///     decoder.layers.2.norm: backward of 'sqrt': produced inf at [1, 0] of [2, 3] for input 0, from finite gradients
///
/// -inf used as a mask is not a fault: -inf that was already in an input of the operation, or that where() and
/// masked_fill() wrote. Every value is checked, so this is for debugging, not for training.
class DetectAnomaly : public Observer {
 public:
  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override;
  void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) override;

 private:
  const Trace modules_;  // so that nodes record their module path
};

}  // namespace tape
