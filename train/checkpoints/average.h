#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../nn/module/module.h"
#include "checkpoint.h"

namespace tape::train {

/// Exponential moving average of a model's parameters. At update t, counted from 1:
///
///     average = d average + (1 - d) parameter,   d = min(decay, (1 + t) / (10 + t))
///
/// The minimum lets early values decay faster than `decay` would (as in TensorFlow's ExponentialMovingAverage). The
/// average starts as a copy of the parameters; buffers are not averaged.
class MovingAverage {
 public:
  /// Throws Error (config) unless 0 < decay < 1.
  MovingAverage(const nn::Module& model, double decay);

  /// Call after update `step` of the parameters.
  void update(int64_t step);
  /// The averages by parameter name; not copies.
  const nn::StateDict& values() const { return values_; }
  /// Copies values in. Throws Error (format) listing names that are missing, unexpected or differ in shape or dtype.
  void load(const nn::StateDict& values);

 private:
  std::vector<NamedTensor> parameters_;
  nn::StateDict values_;
  double decay_;
};

/// While in scope, a model's parameters (and buffers) have other values; those not given keep theirs.
class ScopedWeights {
 public:
  /// Throws Error (format) for a name that the model does not have or a different shape; then nothing is changed.
  ScopedWeights(nn::Module& model, const nn::StateDict& values);
  ~ScopedWeights();
  ScopedWeights(const ScopedWeights&) = delete;
  ScopedWeights& operator=(const ScopedWeights&) = delete;

 private:
  struct Original {
    Tensor tensor, values;
  };
  void restore() noexcept;

  std::vector<Original> originals_;
};

/// Mean of state dicts, computed in f64; tensors that are not floating-point are taken from the last state. Throws
/// Error (config) for an empty list, Error (format) if names, shapes or dtypes differ.
nn::StateDict average_states(const std::vector<nn::StateDict>& states);
/// Mean of the models in checkpoint folders.
nn::StateDict average_checkpoints(const std::vector<std::string>& folders, const CheckpointFiles& files = {});

}  // namespace tape::train
