#pragma once

#include "../../autograd/mask.h"
#include "../../autograd/tape/scope.h"
#include "../../autograd/transforms/checkpoint.h"
#include "../module/module.h"

namespace tape::nn {

/// A stack of layers, each of which can be a checkpoint() of its own: the tape then keeps what goes into a layer, and
/// what is inside is computed once more when the backward comes to it. With L layers the memory of activations is that
/// of L inputs and one layer, for one more forward pass; values and gradients are the same, bit for bit.
class CheckpointedStack {
 public:
  bool checkpoints_layers() const { return checkpoints_; }
  void set_checkpoints_layers(bool checkpoints) { checkpoints_ = checkpoints; }

 protected:
  CheckpointedStack() = default;
  ~CheckpointedStack() = default;

  /// layer(inputs, mask), kept as a checkpoint where that is asked for and anything is recorded at all. What the layer
  /// is given besides must be captured by value; the stack itself must still be there when the backward comes.
  template <class Layer>
  Tensor run_layer(const Tensors& inputs, const Mask& mask, Layer&& layer) const {
    if (!checkpoints_ || !grad_enabled()) return layer(inputs, mask);
    // Scores that the mask adds may have a gradient, and are therefore an input of the checkpoint.
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

/// Says so to every stack within a module. Gives the number of their layers; 0 for a module without any.
int64_t set_layer_checkpoints(Module& module, bool checkpoints);

}  // namespace tape::nn
