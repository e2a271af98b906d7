#pragma once

#include "../../autograd/ops/convolution/pooling.h"
#include "../module/module.h"

namespace tape::nn {

/// The largest value of each window: x [N, C, L] or [C, L] -> [N, C, L'] or [C, L']. Options, errors and L' are
/// max_pool1d()'s; an Error (config) for sizes below 1 comes with the layer.
class MaxPool1d : public Layer<MaxPool1d> {
 public:
  explicit MaxPool1d(const SpatialSizes& kernel, const MaxPoolOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;

 private:
  SpatialSizes kernel_;
  MaxPoolOptions options_;
};

/// The same over two axes: x [N, C, H, W] or [C, H, W] -> [N, C, H', W'] or [C, H', W'].
class MaxPool2d : public Layer<MaxPool2d> {
 public:
  explicit MaxPool2d(const SpatialSizes& kernel, const MaxPoolOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;

 private:
  SpatialSizes kernel_;
  MaxPoolOptions options_;
};

/// The mean of each window, as avg_pool1d() has it: x [N, C, L] or [C, L] -> [N, C, L'] or [C, L'].
class AvgPool1d : public Layer<AvgPool1d> {
 public:
  explicit AvgPool1d(const SpatialSizes& kernel, const AvgPoolOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;

 private:
  SpatialSizes kernel_;
  AvgPoolOptions options_;
};

/// The same over two axes: x [N, C, H, W] or [C, H, W] -> [N, C, H', W'] or [C, H', W'].
class AvgPool2d : public Layer<AvgPool2d> {
 public:
  explicit AvgPool2d(const SpatialSizes& kernel, const AvgPoolOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;

 private:
  SpatialSizes kernel_;
  AvgPoolOptions options_;
};

}  // namespace tape::nn
