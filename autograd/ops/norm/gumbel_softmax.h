#pragma once

#include "../../random.h"
#include "../../tensor.h"

namespace tape {

struct GumbelSoftmaxOptions {
  double tau = 1;     ///< temperature: the lower, the nearer to one category
  bool hard = false;  ///< gives the likeliest category as 1 and the others as 0, with the gradient of what is not hard
  int64_t axis = -1;
};
/// softmax((x + g) / tau) of logits x and Gumbel numbers g along an axis: a category drawn in proportion to e^x, made
/// smooth so that gradients flow to x (Jang et al. 2017, equation 2; Maddison et al. 2017). With `hard` it is that
/// category as a vector of 0 and 1, and the gradient is still the smooth one's ("straight through", Jang et al., 2.2):
/// not that of the values, so a gradient check tells them apart. x of any shape, f32 or f64 (Error (dtype)) -> the same
/// shape. The sampling stream draws unless a generator is given. Error (config) unless tau is above 0 and finite,
/// (index) for an axis that x does not have, (shape) for a hard choice of nothing.
Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxOptions& options = {});
Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxOptions& options, Generator& stream);

}  // namespace tape
