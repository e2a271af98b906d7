#pragma once

#include <optional>

#include "../module/child.h"

namespace tape::nn {

struct BatchNormLayerOptions {
  double eps = 1e-5;
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
  Parameter weight, bias;
  Buffer running_mean, running_var, num_batches_tracked;

 protected:
  BatchNormStats(Module* owner, const char* type, int64_t channels, const BatchNormLayerOptions& options);
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
  using Options = BatchNormLayerOptions;

  /// Throws Error (config) `BatchNorm1d: channels must be at least 1, got 0`, and for a negative eps or a NaN momentum.
  explicit BatchNorm1d(int64_t channels, const BatchNormLayerOptions& options = {});
  Tensor forward(const Tensor& x);
  std::string settings() const override { return settings_text(); }
};

/// Batch normalization of x [N, C, H, W]. Throws as BatchNorm1d.
class BatchNorm2d : public Layer<BatchNorm2d>, public BatchNormStats {
 public:
  using Options = BatchNormLayerOptions;

  explicit BatchNorm2d(int64_t channels, const BatchNormLayerOptions& options = {});
  Tensor forward(const Tensor& x);
  std::string settings() const override { return settings_text(); }
};

}  // namespace tape::nn
