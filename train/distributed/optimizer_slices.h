#pragma once

#include <vector>

#include "../../optim/optimizer.h"
#include "bucket.h"

namespace tape::train {

/// The gradient of a parameter's slice, as one row.
struct SliceGradient {
  size_t parameter = 0;  ///< its number
  Tensor gradient;
  Tensor values = {};  ///< where the slice's own values lie, as one row; undefined: in the parameter
};

/// Has an optimizer keep state of, and update, one slice of each parameter alone: for several processes that share the
/// work. From then on, for as long as the optimizer lives, its state_dict() has rows, and load_state_dict() cuts them
/// out of whole tensors.
class OptimizerSlices {
 public:
  /// `slices`: one of each parameter, some of them empty. State that is kept already is cut. Error (config) for another
  /// number of them, one that is not within its parameter, and for an optimizer that keeps slices already.
  OptimizerSlices(optim::Optimizer& optimizer, const std::vector<ParameterSlice>& slices);

  /// The optimizer's step with the gradients of those parameters that have one on any process. Error (shape) where one
  /// is not the row of its slice.
  void step(const std::vector<SliceGradient>& gradients, const optim::StepOptions& options = {});

 private:
  optim::Optimizer& optimizer_;
  Tensors parameters_;
  std::vector<ParameterSlice> slices_;  // by number
};

}  // namespace tape::train
