#pragma once

#include "../../tensor.h"

namespace tape {

/// Whole-number targets of losses over V classes, whose scores are [..., V] of `dtype`, with a weight [V] of the
/// classes, or an undefined one. Errors as cross_entropy() says them, naming `operation`.
void check_targets(const char* operation, const Shape& scores, DType dtype, const Tensor& target, const Tensor& weight,
                   int64_t ignore_index);

/// Throws Error (config) `operation: label_smoothing must be in [0, 1], got 2`.
void check_label_smoothing(const char* operation, double smoothing);

/// 1 where a target counts, 0 where it is ignored; times its class weight.
Tensor target_weight(const Tensor& target, const Tensor& weight, int64_t ignore_index, DType dtype);

/// What the mean over targets multiplies their sum by: 1 / the sum of their weights, 0 where nothing counts.
double mean_scale(const Tensor& target_weights);

}  // namespace tape
