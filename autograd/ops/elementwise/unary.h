#pragma once

#include "../../tensor.h"

namespace tape {

// Elementwise functions: x of any shape -> the same shape. Floating dtypes, of which f16 and bf16 are computed in f32;
// Error (dtype) for others, except that neg and clamp take integers. At infinities, values and gradients are the
// limits, including gelu, silu and mish, where PyTorch gives NaN at -inf.
Tensor neg(const Tensor& x);         ///< -x
Tensor abs(const Tensor& x);         ///< gradient 0 at 0, NaN at NaN (PyTorch: 0)
Tensor sign(const Tensor& x);        ///< -1, 0 or 1, NaN for NaN (PyTorch: 0); gradient zero
Tensor square(const Tensor& x);      ///< x^2
Tensor reciprocal(const Tensor& x);  ///< 1 / x
Tensor exp(const Tensor& x);         ///< e^x
Tensor log(const Tensor& x);         ///< natural logarithm; -inf at 0, NaN below
Tensor sqrt(const Tensor& x);        ///< square root; NaN below 0
Tensor rsqrt(const Tensor& x);       ///< 1 / sqrt(x)
Tensor sin(const Tensor& x);         ///< sine of an angle in radians
Tensor cos(const Tensor& x);         ///< cosine of an angle in radians
Tensor tanh(const Tensor& x);        ///< (e^x - e^-x) / (e^x + e^-x)
Tensor sigmoid(const Tensor& x);     ///< 1 / (1 + e^-x)
Tensor erf(const Tensor& x);         ///< error function, 2 Phi(sqrt(2) x) - 1 of the standard normal CDF Phi
Tensor relu(const Tensor& x);        ///< max(x, 0); gradient 0 at 0
/// x * Phi(x), Phi the standard normal CDF (Hendrycks and Gimpel 2016).
Tensor gelu(const Tensor& x);
/// Tanh approximation of gelu: x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
Tensor gelu_tanh(const Tensor& x);
Tensor silu(const Tensor& x);  ///< x * sigmoid(x)
/// x limited to [low, high]; gradient 0 outside. Error (config) if low is above high or a bound is NaN,
/// Error (dtype) for bool.
Tensor clamp(const Tensor& x, double low, double high);

}  // namespace tape
