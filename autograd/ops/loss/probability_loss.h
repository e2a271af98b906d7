#pragma once

#include "loss_reduction.h"

namespace tape {

// Losses of probabilities and distributions. x and target have one shape, without broadcasting (Error (shape)), and one
// floating dtype (Error (dtype)); f16 and bf16 are computed in f32. Returns a scalar, or that shape without reduction.
// Gradients flow to both.

/// -(t log p + (1 - t) log(1 - p)) for probabilities p. As in PyTorch, logarithms are at least -100, and in the
/// gradient of p, (p - t) / (p (1 - p)), the denominator is at least 1e-12. Error (numeric) for p outside [0, 1].
Tensor bce_loss(const Tensor& probabilities, const Tensor& target, Reduction reduction = Reduction::mean);

/// Options of bce_with_logits_loss().
struct BceWithLogitsOptions {
  Tensor weight = {};      ///< a factor for each loss, broadcast to x
  Tensor pos_weight = {};  ///< a factor for the positive part t of each loss, broadcast to x: e.g. [classes]
  Reduction reduction = Reduction::mean;  ///< none: a loss per element
};
/// bce_loss for logits x, p = sigmoid(x), without overflow. pos_weight w above 1 favors recall, below 1 precision:
///   -(w t log p + (1 - t) log(1 - p)) = (1 - t) x + (1 + (w - 1) t) log(1 + e^-x)
/// Weights have no gradients. Error (shape) for a weight that does not broadcast to x, (dtype) for one of another
/// dtype.
Tensor bce_with_logits_loss(const Tensor& logits, const Tensor& target, const BceWithLogitsOptions& options = {});

/// Reduction of kl_div. As in PyTorch, mean averages over all elements; batchmean divides the sum by the size of the
/// first axis, which gives the divergence if rows are distributions.
enum class KlReduction { mean, batchmean, sum, none };
/// Options of kl_div().
struct KlDivOptions {
  bool log_target = false;                    ///< whether the target contains log probabilities
  KlReduction reduction = KlReduction::mean;  ///< none: a term per element
};
/// t (log t - x), elementwise terms of the divergence of e^x from t (Kullback and Leibler 1951). x and, with
/// log_target, the target are log probabilities. The loss is 0 where t is 0, for any x. Error (numeric) for a negative
/// target, (shape) for the batchmean of a scalar.
Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options = {});

}  // namespace tape
