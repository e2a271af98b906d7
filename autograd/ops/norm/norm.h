#pragma once

#include "../../tensor.h"

namespace tape {

// Rows whose squares overflow give 0, with gradient 0 (PyTorch: NaN).

/// y = (x - mean) / sqrt(var + eps) * weight + bias over the last axis, var biased (Ba et al. 2016): x [..., C], weight
/// and bias [C] or undefined -> [..., C]; all f32 or all f64. Error (shape) `layer_norm: weight must be [4] for x [2,
/// 3, 4], got [3]`, also if C is 0 or x has no axis; (dtype) for different dtypes; (config) for a negative eps.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

/// y = x / sqrt(mean(x^2) + eps) * weight over the last axis (Zhang and Sennrich 2019): x [..., C], weight [C] or
/// undefined -> [..., C]. Dtypes and errors as in layer_norm().
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-6);

}  // namespace tape
