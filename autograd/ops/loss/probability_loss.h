#pragma once

#include "loss_reduction.h"

namespace tape {

// Losses of probabilities and distributions: x and target have one shape, which is not broadcast (Error (shape)), and
// one floating dtype (Error (dtype)); f16 and bf16 are computed in f32. The result is a single number, or of that shape
// where all of them are asked for. Gradients flow to both.

/// -(t log p + (1 - t) log(1 - p)) for probabilities p; logarithms are held above -100, and in the
/// gradient of p, (p - t) / (p (1 - p)), the denominator above 1e-12, as in PyTorch. Error (numeric) for p outside
/// [0, 1].
Tensor bce_loss(const Tensor& probabilities, const Tensor& target, Reduction reduction = Reduction::mean);

struct BceWithLogitsOptions {
  Tensor weight = {};      ///< a factor for each loss, broadcast to x
  Tensor pos_weight = {};  ///< a factor for the share t of each loss, broadcast to x: [classes] for rows of classes
  Reduction reduction = Reduction::mean;
};
/// The same for logits x, p = sigmoid(x), without overflow; pos_weight w above 1 finds more, below 1 surer ones:
///   -(w t log p + (1 - t) log(1 - p)) = (1 - t) x + (1 + (w - 1) t) log(1 + e^-x)
/// Weights have no gradients. Error (shape) for a weight that does not broadcast to x, (dtype) for one of another
/// dtype.
Tensor bce_with_logits_loss(const Tensor& logits, const Tensor& target, const BceWithLogitsOptions& options = {});

/// What becomes of the losses of kl_div: PyTorch's mean is that of all elements; batchmean is the sum divided by the
/// size of the first axis, the divergence of distributions that are rows.
enum class KlReduction { mean, batchmean, sum, none };
struct KlDivOptions {
  bool log_target = false;  ///< whether the target is given as logarithms
  KlReduction reduction = KlReduction::mean;
};
/// t (log t - x), the part of each element in the divergence of e^x from t (Kullback and Leibler 1951); x and, with
/// log_target, the target are logarithms of probabilities. Where t is 0 so is the loss, whatever x. Error (numeric) for
/// a target below 0, (shape) for the batchmean of a single number.
Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options = {});

}  // namespace tape
