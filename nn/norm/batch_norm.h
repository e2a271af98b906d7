#pragma once

#include <optional>

#include "../module/child.h"

namespace tape::nn {

/// Options of BatchNorm1d and BatchNorm2d.
struct BatchNormLayerOptions {
  double eps = 1e-5;                     ///< added to the variance
  std::optional<double> momentum = 0.1;  ///< empty: running statistics are means over all batches so far
  bool affine = true;                    ///< whether there are weight and bias
  bool track_running_stats = true;       ///< if false, evaluation also uses the batch statistics
};

/// Common base: y = (x - mean) / sqrt(var + eps) * weight + bias per channel (Ioffe and Szegedy 2015).
///
/// weight [C] starts at one, bias [C] at zero. In training, mean and biased var are the batch statistics, and the
/// buffers running_mean and running_var [C], which start at zero and one, move towards its mean and unbiased var;
/// num_batches_tracked [] (i64) counts batches. The recomputation of a checkpoint() updates none of the three. In
/// evaluation the buffers are used.
class BatchNormStats {
 public:
  Parameter weight,         ///< [C]; undefined without `affine`
      bias;                 ///< [C]; undefined without `affine`
  Buffer running_mean,      ///< [C]; undefined without `track_running_stats`
      running_var,          ///< [C]; likewise
      num_batches_tracked;  ///< [] (i64); likewise

 protected:
  /// `type` is the class name in errors. Throws Error (config) for fewer than one channel, a negative eps or a momentum
  /// that is not finite.
  BatchNormStats(Module* owner, const char* type, int64_t channels, const BatchNormLayerOptions& options);
  /// Normalizes x [N, C, ...]; in training with batch statistics, updating the buffers. Throws Error (shape) for
  /// another number of channels.
  Tensor normalize(const Tensor& x, bool training);
  /// As in "4, eps 1e-05, momentum 0.1".
  std::string settings_text() const;

 private:
  const char* type_;
  int64_t channels_;
  BatchNormLayerOptions options_;
};

/// Batch normalization of x [N, C] or [N, C, L]; details at BatchNormStats. Throws Error (shape) for other ranks or
/// numbers of channels, and as batch_norm().
class BatchNorm1d : public Layer<BatchNorm1d>, public BatchNormStats {
 public:
  using Options = BatchNormLayerOptions;  ///< lets Child take options in braces

  /// Throws Error (config) `BatchNorm1d: channels must be at least 1, got 0`, and for a negative eps or a momentum that
  /// is not finite.
  explicit BatchNorm1d(int64_t channels, const BatchNormLayerOptions& options = {});
  /// Returns y: x [N, C] or [N, C, L] -> the same shape. In training, updates the running statistics.
  Tensor forward(const Tensor& x);
  /// As in "64, eps 1e-05, momentum 0.1".
  std::string settings() const override { return settings_text(); }
};

/// Batch normalization of x [N, C, H, W]. Throws as BatchNorm1d.
class BatchNorm2d : public Layer<BatchNorm2d>, public BatchNormStats {
 public:
  using Options = BatchNormLayerOptions;  ///< lets Child take options in braces

  /// Throws Error (config) as BatchNorm1d.
  explicit BatchNorm2d(int64_t channels, const BatchNormLayerOptions& options = {});
  /// Returns y: x [N, C, H, W] -> the same shape. In training, updates the running statistics.
  Tensor forward(const Tensor& x);
  /// As in "64, eps 1e-05, momentum 0.1".
  std::string settings() const override { return settings_text(); }
};

}  // namespace tape::nn
