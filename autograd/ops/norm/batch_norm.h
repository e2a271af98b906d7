#pragma once

#include "../../tensor.h"

namespace tape {

/// Options of batch_norm().
struct BatchNormOptions {
  bool training = false;  ///< normalize with the batch's statistics and update the running statistics
  double momentum = 0.1;  ///< running = (1 - momentum) running + momentum batch
  double eps = 1e-5;      ///< added to the variance
};
/// y = (x - mean) / sqrt(var + eps) * weight + bias with mean and var of each channel (Ioffe and Szegedy 2015,
/// algorithm 1): x [N, C, ...], everything else [C] or undefined -> x's shape; one floating dtype.
///
/// In training, mean and biased var are the batch's. running_mean and running_var, if given, are updated in place with
/// the mean and the unbiased var, without recording (f16 and bf16 are computed in f32 and rounded). An empty batch and
/// the second run of a checkpoint() leave them unchanged. In evaluation, mean and var are the running statistics, which
/// are required. Error (shape) `batch_norm: running_mean must be [4] for x [2, 4, 5], got [3]`, for fewer than two
/// axes, and in training for a single value per channel; (dtype) for different dtypes; (config) for a negative eps, a
/// momentum of NaN, and missing running statistics in evaluation.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, const BatchNormOptions& options = {});

}  // namespace tape
