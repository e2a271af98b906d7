#pragma once

#include "../../autograd/ops/convolution/pooling.h"
#include "../module/child.h"

namespace tape::nn {
namespace detail {

/// Returns settings without defaults, as in "kernel [2, 2], stride [1, 1]". Throws Error (config) for sizes below 1.
std::string pool_settings(const char* type, int64_t axes, const SpatialSizes& kernel, const MaxPoolOptions& options);
std::string pool_settings(const char* type, int64_t axes, const SpatialSizes& kernel, const AvgPoolOptions& options);

/// Layer that applies the operation `pool`.
template <class Derived, int64_t axes, class PoolOptions,
          Tensor (*pool)(const Tensor& x, const SpatialSizes& kernel, const PoolOptions& options)>
class PoolLayer : public Layer<Derived> {
 public:
  using Options = PoolOptions;

  explicit PoolLayer(const SpatialSizes& kernel, const PoolOptions& options = {}) : kernel_(kernel), options_(options) {
    settings();  // checks every size
  }
  Tensor forward(const Tensor& x) const { return pool(x, kernel_, options_); }
  std::string settings() const final { return pool_settings(Derived::kType, axes, kernel_, options_); }

 private:
  SpatialSizes kernel_;
  PoolOptions options_;
};

}  // namespace detail

/// Maximum of each window: x [N, C, L] or [C, L] -> [N, C, L'] or [C, L']. Options, errors and L' as max_pool1d(),
/// except that the constructor throws Error (config) for sizes below 1.
class MaxPool1d : public detail::PoolLayer<MaxPool1d, 1, MaxPoolOptions, max_pool1d> {
 public:
  static constexpr const char* kType = "MaxPool1d";  ///< the class name in errors
  using PoolLayer::PoolLayer;
};

/// The same over two axes: x [N, C, H, W] or [C, H, W] -> [N, C, H', W'] or [C, H', W'].
class MaxPool2d : public detail::PoolLayer<MaxPool2d, 2, MaxPoolOptions, max_pool2d> {
 public:
  static constexpr const char* kType = "MaxPool2d";  ///< the class name in errors
  using PoolLayer::PoolLayer;
};

/// Mean of each window, as avg_pool1d(): x [N, C, L] or [C, L] -> [N, C, L'] or [C, L'].
class AvgPool1d : public detail::PoolLayer<AvgPool1d, 1, AvgPoolOptions, avg_pool1d> {
 public:
  static constexpr const char* kType = "AvgPool1d";  ///< the class name in errors
  using PoolLayer::PoolLayer;
};

/// The same over two axes: x [N, C, H, W] or [C, H, W] -> [N, C, H', W'] or [C, H', W'].
class AvgPool2d : public detail::PoolLayer<AvgPool2d, 2, AvgPoolOptions, avg_pool2d> {
 public:
  static constexpr const char* kType = "AvgPool2d";  ///< the class name in errors
  using PoolLayer::PoolLayer;
};

}  // namespace tape::nn
