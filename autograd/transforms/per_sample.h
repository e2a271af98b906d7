#pragma once

#include <functional>
#include <vector>

#include "../named_tensor.h"

namespace tape {

struct PerSampleOptions {
  /// Compares the last sample's gradients with those of a backward of its own, for the price of that backward: samples
  /// that influence each other (batch normalization) are found by it, and rows that do not lie sample by sample.
  bool verify = true;
};

/// The gradient of each sample's own loss: for each parameter [B, ... of the parameter], where `losses` gives the B
/// losses [B] of a batch, whose tensors have the samples along axis 0. One forward of the batch, one of its first
/// sample (which tells what has an axis of samples), and one backward.
///
/// The gradient of a linear layer's weight for sample b is the product of its rows of dy and x alone, where the sum
/// over all rows is the usual one (Goodfellow 2015, "Efficient per-example gradient computations"); so it is done for
/// linear(), embedding(), conv1d(), conv2d(), layer_norm(), rms_norm(), group_norm() and every operation that
/// broadcasts a parameter. Others that take one together with samples are called once a sample, with the gradient of
/// the rest at zero: right, and slower. What is made of parameters alone (a table of positions, tied weights) is
/// differentiated behind them.
///
/// Each parameter's result is B times as large as it is. No grad() is touched. Error (shape) where a batch's tensors
/// have different numbers of samples or the losses are not [B]; Error (graph) where an operation's samples lie along no
/// one axis, where checkpoint() is inside, and where verify finds other gradients.
std::vector<NamedTensor> per_sample_gradients(const std::function<Tensor(const Tensors& batch)>& losses,
                                              const std::vector<NamedTensor>& parameters, const Tensors& batch,
                                              const PerSampleOptions& options = {});

}  // namespace tape
