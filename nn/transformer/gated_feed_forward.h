#pragma once

#include "../activation.h"
#include "../dropout.h"
#include "../linear.h"

namespace tape::nn {

/// Options of GatedFeedForward.
struct GatedFeedForwardOptions {
  ActivationKind activation = ActivationKind::silu;  ///< of the gate: silu is SwiGLU, gelu GEGLU, sigmoid GLU
  double dropout = 0;                                ///< on the gated values, before the last layer
  bool bias = false;                                 ///< in all three layers
};

/// down(dropout(activation(gate(x)) * up(x))): x [..., C] -> [..., F] -> [..., C] (Shazeer 2020, "GLU variants improve
/// Transformer", section 2). Throws as Linear and Dropout.
class GatedFeedForward : public Layer<GatedFeedForward> {
 public:
  using Options = GatedFeedForwardOptions;  ///< lets Child take options in braces

  /// C = d_model, F = d_ff. Throws Error (config) for sizes below 1, or unless 0 <= dropout < 1.
  GatedFeedForward(int64_t d_model, int64_t d_ff, const GatedFeedForwardOptions& options = {});
  /// x [..., C] -> [..., C]. Throws Error (shape) for another width.
  Tensor forward(const Tensor& x);

  Child<Linear> gate,            ///< C -> F, through the activation
      up;                        ///< C -> F, multiplied by the gate
  Child<Activation> activation;  ///< of the gate
  Child<Dropout> dropout;        ///< on the product
  Child<Linear> down;            ///< F -> C
};

}  // namespace tape::nn
