#pragma once

#include "../tensor.h"

namespace tape {

/// How the losses of single elements become one result: their mean, their sum, or all of them.
enum class Reduction { mean, sum, none };

struct CrossEntropyOptions {
  int64_t ignore_index = -100;  ///< targets of this value cost nothing and are not counted
  double label_smoothing = 0;   ///< share of the target that is spread over all classes (Szegedy et al. 2016, 7)
  Tensor weight = {};           ///< [V], a factor for each class
  Reduction reduction = Reduction::mean;
};

/// -log softmax(logits)[target], classes on the last axis: logits [..., V], target [...] (i64). With smoothing s:
///   (1 - s) w[t] (-log p[t]) + s / V * sum_v w[v] (-log p[v])
/// The mean divides by the sum of w[t] over targets that are not ignored; where all are ignored it is 0.
/// Error (index) `cross_entropy: target 12 at position 3 is outside [0, 10)`.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});

struct NllOptions {
  int64_t ignore_index = -100;
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
};
/// -log_probabilities[target]: cross_entropy for values that are log_softmax already.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllOptions& options = {});

/// (x - target)^2
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// |x - target|
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// -(t log p + (1 - t) log(1 - p)) for probabilities p; logarithms are held above -100, as in PyTorch.
Tensor bce_loss(const Tensor& probabilities, const Tensor& target, Reduction reduction = Reduction::mean);
/// The same for logits x, p = sigmoid(x), without overflow: log(1 + e^x) - x t.
Tensor bce_with_logits_loss(const Tensor& logits, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace tape
