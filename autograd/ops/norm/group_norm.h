#pragma once

#include "../../tensor.h"

namespace tape {

/// y = (x - mean) / sqrt(var + eps) * weight + bias with mean and biased var of each group of channels per batch
/// element (Wu and He 2018, "Group normalization", equation 7): x [N, C, ...], weight and bias [C] or undefined -> x's
/// shape; one floating dtype. Error (shape) `group_norm: 3 groups do not divide the 4 channels of x [2, 4, 5]`, if
/// weight or bias are not [C], and for fewer than two axes; (dtype) for different dtypes; (config) for groups below 1
/// and a negative eps.
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

}  // namespace tape
