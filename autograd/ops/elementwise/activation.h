#pragma once

#include "../../tensor.h"

namespace tape {

// Activations besides relu, gelu and silu (unary.h), one value at a time: x of any shape -> the same shape. f32 and
// f64; Error (dtype) for others.

struct SoftplusOptions {
  double beta = 1;
  double threshold = 20;  ///< where beta x is beyond it, x itself is given
};
/// log(1 + e^(beta x)) / beta, a smooth relu. Error (config) unless beta is above 0.
Tensor softplus(const Tensor& x, const SoftplusOptions& options = {});
/// x above 0, slope * x below; gradient `slope` at 0.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
/// x above 0, alpha (e^x - 1) below (Clevert et al. 2016).
Tensor elu(const Tensor& x, double alpha = 1);
Tensor mish(const Tensor& x);  ///< x tanh(log(1 + e^x)) (Misra 2020)

}  // namespace tape
