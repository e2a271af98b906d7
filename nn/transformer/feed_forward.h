#pragma once

#include "../activation.h"
#include "../dropout.h"
#include "../linear.h"

namespace tape::nn {

/// Options of FeedForward.
struct FeedForwardOptions {
  ActivationKind activation = ActivationKind::relu;  ///< after the first layer
  double dropout = 0;                                ///< between the two layers
  bool bias = true;                                  ///< in both layers
};

/// linear2(dropout(activation(linear1(x)))): x [..., C] -> [..., F] -> [..., C] (Vaswani et al. 2017, section 3.3).
/// Throws as Linear and Dropout.
class FeedForward : public Layer<FeedForward> {
 public:
  using Options = FeedForwardOptions;  ///< lets Child take options in braces

  /// C = d_model, F = d_ff. Throws Error (config) for sizes below 1, or unless 0 <= dropout < 1.
  FeedForward(int64_t d_model, int64_t d_ff, const FeedForwardOptions& options = {});
  /// x [..., C] -> [..., C]. Throws Error (shape) for another width.
  Tensor forward(const Tensor& x);

  Child<Linear> linear1;         ///< C -> F
  Child<Activation> activation;  ///< on F columns
  Child<Dropout> dropout;        ///< after the activation
  Child<Linear> linear2;         ///< F -> C
};

}  // namespace tape::nn
