#pragma once

#include "autograd/tensor.h"

namespace tape {

/// y = (x - mean) / sqrt(var + eps) * weight + bias over the last axis, var biased (Ba et al. 2016).
/// x [..., C], weight and bias [C] or undefined -> [..., C]. Error (shape) where they do not fit.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

}  // namespace tape
