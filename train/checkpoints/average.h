#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../nn/module/module.h"
#include "checkpoint.h"

namespace tape::train {

/// An exponential moving average of a model's parameters. At update t, counted from 1:
///
///     average = d average + (1 - d) parameter,   d = min(decay, (1 + t) / (10 + t))
///
/// which forgets the first values sooner than `decay` alone would (as TensorFlow's ExponentialMovingAverage does). It
/// begins as a copy of the parameters; buffers are not averaged.
class MovingAverage {
 public:
  /// Error (config) unless 0 < decay < 1.
  MovingAverage(const nn::Module& model, double decay);

  /// After update `step` of the parameters.
  void update(int64_t step);
  /// The averages by parameter name: its own tensors.
  const nn::StateDict& values() const { return values_; }
  /// Copies values in. Error (format) listing what is missing, unexpected or of another shape or dtype.
  void load(const nn::StateDict& values);

 private:
  std::vector<NamedTensor> parameters_;
  nn::StateDict values_;
  double decay_;
};

/// While in scope, a model's parameters (and buffers) hold other values; what is not given stays.
class WeightsInPlace {
 public:
  /// Error (format) for a name the model does not have, or another shape; nothing is changed then.
  WeightsInPlace(nn::Module& model, const nn::StateDict& values);
  ~WeightsInPlace();
  WeightsInPlace(const WeightsInPlace&) = delete;
  WeightsInPlace& operator=(const WeightsInPlace&) = delete;

 private:
  struct Original {
    Tensor tensor, values;
  };
  void restore() noexcept;

  std::vector<Original> originals_;
};

/// The mean of state dicts, in f64; what is no floating type is the last one's. Error (config) for none, Error (format)
/// where names, shapes or dtypes differ.
nn::StateDict average_of(const std::vector<nn::StateDict>& states);
/// The mean of the models of checkpoint folders.
nn::StateDict average_checkpoints(const std::vector<std::string>& folders, const CheckpointFiles& files = {});

}  // namespace tape::train
