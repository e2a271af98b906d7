#pragma once

#include "loss_reduction.h"

namespace tape {

/// Options of cross_entropy().
struct CrossEntropyOptions {
  int64_t ignore_index = -100;            ///< targets with this value are ignored: no loss, not counted in the mean
  double label_smoothing = 0;             ///< share of the target spread over all classes (Szegedy et al. 2016, 7)
  Tensor weight = {};                     ///< [V], a factor per class
  Reduction reduction = Reduction::mean;  ///< none: a loss per target, 0 if ignored
};

/// -log softmax(logits)[target], classes on the last axis: logits [..., V] (floating), target [...] (i64) -> a scalar;
/// with Reduction::none, [...]. With smoothing s:
///   (1 - s) w[t] (-log p[t]) + s / V * sum_v w[v] (-log p[v])
/// The mean divides by the sum of w[t] over targets that are not ignored; it is 0 if all are ignored. Ignored rows have
/// no gradient, whatever their logits; rows in which all logits are -inf have loss inf and gradient 0 (PyTorch: NaN).
///
/// A floating target [..., V], the shape and dtype of the logits, contains the probabilities q of all classes, as soft
/// labels in distillation (Hinton et al. 2015) and mixup, and can have gradients. The loss is composed of operations:
///   -sum_v w[v] ((1 - s) q[v] + s / V) log p[v]
/// The mean divides by the number of targets. A class with share 0 adds 0, also if its logit is -inf (PyTorch: NaN).
///
/// Error (index) `cross_entropy: target 12 at position 3 is outside [0, 10)`; (shape) for a target or weight that does
/// not fit the logits; (dtype) for a target that is neither i64 nor of the logits' dtype and a weight of another dtype;
/// (config) for a label_smoothing outside [0, 1] and an ignore_index of 0 or more with probabilities.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});

/// Options of nll_loss(), as in CrossEntropyOptions.
struct NllOptions {
  int64_t ignore_index = -100;            ///< targets with this value are ignored
  Tensor weight = {};                     ///< [V], a factor per class
  Reduction reduction = Reduction::mean;  ///< none: a loss per target
};
/// -log_probabilities[target]: cross_entropy without the log_softmax. Shapes and errors as in cross_entropy().
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllOptions& options = {});

}  // namespace tape
