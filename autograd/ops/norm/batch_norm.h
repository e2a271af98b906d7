#pragma once

#include "../../tensor.h"

namespace tape {

struct BatchNormOptions {
  bool training = false;  ///< normalize with the batch's own numbers, and move the running ones towards them
  double momentum = 0.1;  ///< how far: running = (1 - momentum) running + momentum own
  double eps = 1e-5;      ///< added to the variance
};
/// y = (x - mean) / sqrt(var + eps) * weight + bias, mean and var of each channel (Ioffe and Szegedy 2015, algorithm
/// 1): x [N, C, ...], everything else [C] or undefined -> x's shape; one floating dtype.
///
/// In training mean and biased var are those of the batch, and running_mean and running_var, where given, move towards
/// its mean and unbiased var in place, unrecorded (f16 and bf16 are computed in f32 and rounded); a batch of none
/// leaves them, and so does the second run of a checkpoint(). Else they are the running ones, which must be given.
/// Error (shape) `batch_norm: running_mean must be [4] for x [2, 4, 5], got [3]`, for fewer than two axes and in
/// training for a single value a channel; (dtype) where dtypes differ; (config) for a negative eps, a momentum that is
/// no number, and where the running statistics are wanted and not given.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, const BatchNormOptions& options = {});

}  // namespace tape
