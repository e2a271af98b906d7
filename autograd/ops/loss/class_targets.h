#pragma once

#include "../../tensor.h"

namespace tape {

/// Checks integer targets of losses over V classes, with scores [..., V] of `dtype` and a class weight [V], which may
/// be undefined. Returns targets that kernels can use as positions (checked_index()). Errors as in cross_entropy();
/// messages name `operation`.
Tensor checked_targets(const char* operation, const Shape& scores, DType dtype, const Tensor& target,
                       const Tensor& weight, int64_t ignore_index);

/// Throws Error (dtype) or (shape) unless the class weight is undefined or [classes] of `dtype`.
void check_class_weight(const char* operation, int64_t classes, DType dtype, const Tensor& weight);

/// Throws Error (config) `operation: label_smoothing must be in [0, 1], got 2`.
void check_label_smoothing(const char* operation, double smoothing);

/// Weight of each target: its class weight or 1, and 0 where it is ignored.
Tensor target_weight(const Tensor& target, const Tensor& weight, int64_t ignore_index, DType dtype);

/// Factor that turns the sum over targets into their mean: 1 / sum of weights, or 0 if that is 0. A scalar in compute
/// dtype, not recorded.
Tensor mean_scale(const Tensor& target_weights);
/// The same for targets with these class weights, which may be undefined.
Tensor mean_scale(const Tensor& target, const Tensor& weight, int64_t ignore_index, DType dtype);

}  // namespace tape
