#pragma once

#include <vector>

#include "../../optim/optimizer.h"
#include "bucket.h"

namespace tape::train {

/// The gradient of a parameter slice, as a 1-D tensor.
struct SliceGradient {
  size_t parameter = 0;  ///< index of the parameter
  Tensor gradient;
  Tensor values = {};  ///< the slice's values as a 1-D tensor; undefined: they are in the parameter
};

/// Restricts an optimizer to one slice of each parameter, so that several processes can share its state and work. For
/// the rest of the optimizer's lifetime its state_dict() has 1-D slices, and load_state_dict() cuts them out of whole
/// tensors.
class OptimizerSlices {
 public:
  /// `slices`: one per parameter, some possibly empty. Existing state is cut to the slices. Throws Error (config) for a
  /// different number of slices, a slice outside of its parameter, or an optimizer that already uses slices.
  OptimizerSlices(optim::Optimizer& optimizer, const std::vector<ParameterSlice>& slices);

  /// Optimizer step with the gradients of the parameters that have one on any process. Throws Error (shape) for a
  /// gradient whose shape is not that of its slice.
  void step(const std::vector<SliceGradient>& gradients, const optim::StepOptions& options = {});

 private:
  optim::Optimizer& optimizer_;
  Tensors parameters_;
  std::vector<ParameterSlice> slices_;  // by parameter index
};

}  // namespace tape::train
