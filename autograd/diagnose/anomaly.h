#pragma once

#include "../tape/tape.h"

namespace tape {

/// While in scope, the first operation recorded by this thread that makes NaN or infinity, or whose gradient function
/// does, raises Error (numeric) with the module it ran in:
///
///     decoder.layers.2.norm: log: gave -inf at [1, 0] of [2, 3], from finite inputs
///     decoder.layers.2.norm: backward of 'sqrt': gave inf at [1, 0] of [2, 3] for input 0, from finite gradients
///
/// Values that hide by -inf are no fault: -inf that an input of the operation held already, or that where() and
/// masked_fill() put in. Each value is looked at, so this is for finding a fault, not for training.
class DetectAnomaly : public Observer {
 public:
  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override;
  void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) override;

 private:
  const Trace modules_;  // nodes remember the module they ran in
};

}  // namespace tape
