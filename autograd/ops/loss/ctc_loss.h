#pragma once

#include "loss_reduction.h"

namespace tape {

struct CtcOptions {
  int64_t blank = 0;  ///< the class that says nothing
  /// PyTorch's mean: each loss divided by the length of its target (by 1 where that is 0), then the mean of them.
  Reduction reduction = Reduction::mean;
  bool zero_infinity = false;  ///< 0 in the place of infinite losses
};
/// Connectionist temporal classification (Graves et al. 2006): -log of the probability that frames spell a target,
/// summed over all paths, one class a frame, that give it when classes repeated in a row are taken once and blanks then
/// left out. Between two equal labels there must be a blank.
///
/// log_probs [T, N, C], logarithms of probabilities (log_softmax), floating; targets i64, [N, S] with anything behind
/// each target's length, or all labels one after another [sum of lengths]; input_lengths and target_lengths [N], i64.
/// Or a single sequence: [T, C], [S], and lengths [] or [1]. The result is a single number, or [N] ([] of a single
/// sequence) with Reduction::none. The loss is infinite where too few frames are there for a target, with a gradient of
/// 0.
///
/// The gradient is that of log_probs as given, -1 times the share of the paths that have a class at a frame. (PyTorch's
/// takes for granted that they come from log_softmax, and adds what that takes off again: behind a log_softmax both are
/// one.)
///
/// Error (shape) for other shapes, and lengths that do not add up to the labels; (dtype) for other dtypes; (index) for
/// a length outside [0, T] or [0, S], and a label that is outside [0, C) or the blank; (config) for a blank outside [0,
/// C).
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options = {});

}  // namespace tape
