#pragma once

#include "../../random.h"
#include "../../tensor.h"

namespace tape {

/// Options of gumbel_softmax().
struct GumbelSoftmaxOptions {
  double tau = 1;     ///< temperature: lower values are closer to one-hot
  bool hard = false;  ///< return a one-hot vector with the gradient of the soft sample
  int64_t axis = -1;  ///< axis of the categories
};
/// softmax((x + g) / tau) of logits x and Gumbel noise g along an axis: a differentiable relaxation of sampling a
/// category with probability proportional to e^x (Jang et al. 2017, equation 2; Maddison et al. 2017). With `hard`,
/// returns the category one-hot, with the gradient of the soft sample ("straight through", Jang et al., 2.2), which
/// fails a gradient check by design. x of any shape, f32 or f64 (Error (dtype)) -> the same shape. Uses the sampling
/// stream unless a generator is given. Error (config) unless tau is positive and finite, (index) for an axis that x
/// does not have, (shape) for hard with an empty axis.
/// @{
Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxOptions& options = {});
Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxOptions& options, Generator& stream);
/// @}

}  // namespace tape
