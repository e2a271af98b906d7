#pragma once

#include "../../tensor.h"

namespace tape {

// Elementwise activations other than relu, gelu and silu (unary.h): x of any shape -> the same shape. Floating
// dtypes, of which f16 and bf16 are computed in f32; Error (dtype) for others.

/// Options of softplus().
struct SoftplusOptions {
  double beta = 1;        ///< sharpness of the bend at 0; above 0
  double threshold = 20;  ///< return x where beta x exceeds this
};
/// log(1 + e^(beta x)) / beta, a smooth relu. Error (config) unless beta is positive.
Tensor softplus(const Tensor& x, const SoftplusOptions& options = {});
/// x where positive, otherwise slope * x; gradient `slope` at 0.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
/// x where positive, otherwise alpha (e^x - 1) (Clevert et al. 2016).
Tensor elu(const Tensor& x, double alpha = 1);
Tensor mish(const Tensor& x);  ///< x tanh(log(1 + e^x)) (Misra 2020)

}  // namespace tape
