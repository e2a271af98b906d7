#pragma once

#include "../activation.h"
#include "../dropout.h"
#include "../linear.h"

namespace tape::nn {

struct FeedForwardOptions {
  ActivationKind activation = ActivationKind::relu;
  double dropout = 0;  ///< between the two layers
  bool bias = true;    ///< in both layers
};

/// linear2(dropout(activation(linear1(x)))): x [..., C] -> [..., F] -> [..., C] (Vaswani et al. 2017, section 3.3).
/// Throws as Linear and Dropout.
class FeedForward : public Layer<FeedForward> {
 public:
  using Options = FeedForwardOptions;

  FeedForward(int64_t d_model, int64_t d_ff, const FeedForwardOptions& options = {});
  Tensor forward(const Tensor& x);

  Child<Linear> linear1;
  Child<Activation> activation;
  Child<Dropout> dropout;
  Child<Linear> linear2;
};

}  // namespace tape::nn
