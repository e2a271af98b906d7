#pragma once

#include "../../autograd/mask.h"
#include "../../autograd/tape/scope.h"
#include "../../autograd/transforms/checkpoint.h"
#include "../module/module.h"

namespace tape::nn {

/// Stack of layers, each of which can be a checkpoint(): the tape then saves only a layer's input and recomputes the
/// rest in the backward pass. With L layers, activations take the memory of L inputs and one layer, at the cost of one
/// more forward pass. Values and gradients are bitwise identical.
class CheckpointedStack {
 public:
  /// Whether each layer is a checkpoint; false after construction.
  bool checkpoints_layers() const { return checkpoints_; }
  /// Enables or disables the checkpoints, from the next call on.
  void set_checkpoints_layers(bool checkpoints) { checkpoints_ = checkpoints; }

 protected:
  CheckpointedStack() = default;
  ~CheckpointedStack() = default;

  /// Returns layer(inputs, mask), as a checkpoint if enabled and gradients are recorded. Capture further arguments by
  /// value. The stack must outlive the backward pass.
  template <class Layer>
  Tensor run_layer(const Tensors& inputs, const Mask& mask, Layer&& layer) const {
    if (!checkpoints_ || !grad_enabled()) return layer(inputs, mask);
    // The mask's bias may require a gradient, so it is an input of the checkpoint.
    const bool adds = mask.bias().defined();
    Tensors all = inputs;
    if (adds) all.push_back(mask.bias());
    const std::function<Tensor(const Tensors&)> again = [layer, mask, adds](const Tensors& in) {
      return adds ? layer(Tensors(in.begin(), in.end() - 1), mask.with_bias(in.back())) : layer(in, mask);
    };
    return checkpoint(again, all);
  }

 private:
  bool checkpoints_ = false;
};

/// Enables or disables checkpoints in every stack within a module. Returns the total number of layers.
int64_t set_layer_checkpoints(Module& module, bool checkpoints);

}  // namespace tape::nn
