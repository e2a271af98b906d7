#pragma once

#include "../autograd/ops/convolution/convolution.h"
#include "module/module.h"

namespace tape::nn {

/// ConvOptions of a layer, with torch.nn's names.
struct ConvLayerOptions {
  SpatialSizes stride = 1;
  ConvPadding padding = 0;
  SpatialSizes dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

/// y = weight * x + bias, a cross-correlation: x [N, in, L] or [in, L] -> [N, out, L'] or [out, L'] (conv1d() has the
/// formula and L'); weight [out, in / groups, kernel], bias [out]. Both start uniform within 1 / sqrt(in / groups *
/// kernel), which torch.nn calls Kaiming uniform with a = sqrt(5). Errors as conv1d().
class Conv1d : public Layer<Conv1d> {
 public:
  /// Error (config) for sizes below 1, and groups that do not divide in and out.
  Conv1d(int64_t in, int64_t out, const SpatialSizes& kernel, const ConvLayerOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;

  Parameter weight, bias;

 private:
  ConvOptions options_;
};

/// The same over two axes: x [N, in, H, W] or [in, H, W] -> [N, out, H', W'] or [out, H', W']; weight [out, in /
/// groups, KH, KW].
class Conv2d : public Layer<Conv2d> {
 public:
  /// Error (config) for sizes below 1, and groups that do not divide in and out.
  Conv2d(int64_t in, int64_t out, const SpatialSizes& kernel, const ConvLayerOptions& options = {});
  Tensor forward(const Tensor& x) const;
  const ConvOptions& options() const { return options_; }
  std::string settings() const override;

  Parameter weight, bias;

 private:
  ConvOptions options_;
};

}  // namespace tape::nn
