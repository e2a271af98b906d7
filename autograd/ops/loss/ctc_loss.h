#pragma once

#include "loss_reduction.h"

namespace tape {

/// Options of ctc_loss().
struct CtcOptions {
  int64_t blank = 0;  ///< class index of the blank
  /// PyTorch's mean: each loss is divided by the length of its target (by 1 if that is 0), then averaged.
  Reduction reduction = Reduction::mean;
  bool zero_infinity = false;  ///< replace infinite losses by 0
};
/// Connectionist temporal classification (Graves et al. 2006): -log of the probability of a target, summed over all
/// paths (one class per frame) that yield it when repeated classes are merged and then blanks removed. Equal labels in
/// a row need a blank between them.
///
/// log_probs [T, N, C], log probabilities (log_softmax), floating; targets i64, [N, S], with anything past the end of
/// each target, or all labels concatenated [sum of lengths]; input_lengths and target_lengths [N], i64. For a single
/// sequence: [T, C], [S], and lengths [] or [1]. Returns a scalar, or with Reduction::none [N] ([] for a single
/// sequence). If there are too few frames for a target, the loss is infinite, with gradient 0.
///
/// The gradient is with respect to log_probs as given: minus the share of paths that have a class at a frame. (PyTorch
/// assumes that log_probs come from log_softmax and adds a term that its backward removes; after log_softmax both are
/// equal.)
///
/// Error (shape) for other shapes and for lengths that do not add up to the labels; (dtype) for other dtypes; (index)
/// for a length outside [0, T] or [0, S] and for a label that is outside [0, C) or the blank; (config) for a blank
/// outside [0, C). On a GPU, the host waits for the lengths of concatenated labels and for nothing else.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options = {});

}  // namespace tape
