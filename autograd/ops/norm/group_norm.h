#pragma once

#include "../../tensor.h"

namespace tape {

/// y = (x - mean) / sqrt(var + eps) * weight + bias, mean and biased var over each group of channels of each element of
/// the batch (Wu and He 2018, "Group normalization", equation 7): x [N, C, ...], weight and bias [C] or undefined ->
/// x's shape; one floating dtype. Error (shape) `group_norm: 3 groups do not divide the 4 channels of x [2, 4, 5]`,
/// where weight or bias are not [C], and for fewer than two axes; (dtype) where dtypes differ; (config) for groups
/// below 1 and a negative eps.
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

}  // namespace tape
