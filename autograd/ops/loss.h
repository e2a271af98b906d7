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

/// -log softmax(logits)[target], classes on the last axis: logits [..., V] (f32 or f64), target [...] (i64) -> a single
/// number, or [...] with Reduction::none. With smoothing s:
///   (1 - s) w[t] (-log p[t]) + s / V * sum_v w[v] (-log p[v])
/// The mean divides by the sum of w[t] over targets that are not ignored; where all are ignored it is 0.
/// Error (index) `cross_entropy: target 12 at position 3 is outside [0, 10)`; (shape) for a target or weight that does
/// not fit the logits; (dtype) for a target that is not i64 and a weight of another dtype; (config) for a
/// label_smoothing outside [0, 1].
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});

struct NllOptions {
  int64_t ignore_index = -100;
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
};
/// -log_probabilities[target]: cross_entropy for values that are log_softmax already. Shapes and errors as there.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllOptions& options = {});

// Losses of single elements: both tensors have one shape, which is not broadcast (Error (shape)), and one dtype, f32 or
// f64 (Error (dtype)). The result is a single number, or of that shape with Reduction::none. Gradients flow to both.

/// (x - target)^2
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// |x - target|
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// -(t log p + (1 - t) log(1 - p)) for probabilities p; logarithms are held above -100, as in PyTorch. Error (numeric)
/// for p outside [0, 1].
Tensor bce_loss(const Tensor& probabilities, const Tensor& target, Reduction reduction = Reduction::mean);
/// The same for logits x, p = sigmoid(x), without overflow: log(1 + e^x) - x t.
Tensor bce_with_logits_loss(const Tensor& logits, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace tape
