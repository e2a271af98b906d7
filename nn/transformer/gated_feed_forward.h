#pragma once

#include "../activation.h"
#include "../dropout.h"
#include "../linear.h"

namespace tape::nn {

struct GatedFeedForwardOptions {
  ActivationKind activation = ActivationKind::silu;  ///< of the gate: silu is SwiGLU, gelu GEGLU, sigmoid GLU
  double dropout = 0;                                ///< on the gated values, before the last layer
  bool bias = false;                                 ///< in all three layers
};

/// down(dropout(activation(gate(x)) * up(x))): x [..., C] -> [..., F] -> [..., C] (Shazeer 2020, "GLU variants improve
/// Transformer", section 2). Throws as Linear and Dropout.
class GatedFeedForward : public Layer<GatedFeedForward> {
 public:
  using Options = GatedFeedForwardOptions;

  GatedFeedForward(int64_t d_model, int64_t d_ff, const GatedFeedForwardOptions& options = {});
  Tensor forward(const Tensor& x);

  Child<Linear> gate, up;
  Child<Activation> activation;
  Child<Dropout> dropout;
  Child<Linear> down;
};

}  // namespace tape::nn
