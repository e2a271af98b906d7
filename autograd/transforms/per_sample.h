#pragma once

#include <functional>
#include <vector>

#include "../named_tensor.h"

namespace tape {

/// Options of per_sample_gradients().
struct PerSampleOptions {
  /// Compares the last sample's gradients with those of a separate backward, at the cost of that backward. Detects
  /// samples that influence each other (batch normalization) and rows that are not grouped by sample.
  bool verify = true;
};

/// Per-sample gradients: for each parameter, [B, ... of the parameter] with the gradient of each sample's own loss.
/// `losses` returns the losses [B] of a batch, whose tensors have samples along axis 0. Runs one forward of the batch,
/// one of its first sample (to find the sample axes), and one backward.
///
/// The gradient of a linear layer's weight for sample b is the product of only its rows of dy and x, while the usual
/// gradient sums over all rows (Goodfellow 2015, "Efficient per-example gradient computations"). Such rules exist for
/// linear(), embedding(), conv1d(), conv2d(), layer_norm(), rms_norm(), group_norm() and every operation that
/// broadcasts a parameter. The gradient functions of others are called once per sample, with the gradients of the other
/// samples set to zero, which is correct but slower. Tensors computed only from parameters (a table of positions, tied
/// weights) are differentiated afterwards.
///
/// Each result is B times as large as its parameter. No grad() is changed. Throws Error (shape) if the batch's tensors
/// differ in number of samples or the losses are not [B]; (graph) if an operation's samples do not lie along a single
/// axis, if checkpoint() is used, or if verify finds other gradients.
std::vector<NamedTensor> per_sample_gradients(const std::function<Tensor(const Tensors& batch)>& losses,
                                              const std::vector<NamedTensor>& parameters, const Tensors& batch,
                                              const PerSampleOptions& options = {});

}  // namespace tape
