#pragma once

#include "loss_reduction.h"

namespace tape {

struct CrossEntropyOptions {
  int64_t ignore_index = -100;  ///< targets of this value cost nothing and are not counted
  double label_smoothing = 0;   ///< share of the target that is spread over all classes (Szegedy et al. 2016, 7)
  Tensor weight = {};           ///< [V], a factor for each class
  Reduction reduction = Reduction::mean;
};

/// -log softmax(logits)[target], classes on the last axis: logits [..., V] (floating), target [...] (i64) -> a single
/// number, or [...] with Reduction::none. With smoothing s:
///   (1 - s) w[t] (-log p[t]) + s / V * sum_v w[v] (-log p[v])
/// The mean divides by the sum of w[t] over targets that are not ignored; where all are ignored it is 0. What
/// is ignored has no gradient, whatever its logits; logits of nothing but -inf cost inf, with gradients 0 (PyTorch:
/// NaN). Error (index) `cross_entropy: target 12 at position 3 is outside [0, 10)`; (shape) for a target or weight that
/// does not fit the logits; (dtype) for a target that is not i64 and a weight of another dtype; (config) for a
/// label_smoothing outside [0, 1].
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});

struct NllOptions {
  int64_t ignore_index = -100;
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
};
/// -log_probabilities[target]: cross_entropy for values that are log_softmax already. Shapes and errors as there.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllOptions& options = {});

}  // namespace tape
