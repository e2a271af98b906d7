#pragma once

#include "../autograd/create.h"
#include "../autograd/ops/convolution/convolution.h"
#include "module/child.h"

namespace tape::nn {

/// Options of a convolution layer, named as in torch.nn.
struct ConvLayerOptions {
  SpatialSizes stride = 1;    ///< distance between windows
  ConvPadding padding = 0;    ///< zeros at both ends; PadTo::same needs stride 1
  SpatialSizes dilation = 1;  ///< distance between values of a window
  int64_t groups = 1;         ///< an output channel sees only the input channels of its group; divides in and out
  bool bias = true;           ///< whether there is a bias per output channel
};

namespace detail {

/// Returns the uninitialized weight. Throws Error (config) for sizes below 1, or if groups does not divide in and out.
Tensor conv_weight(const char* type, int64_t axes, int64_t in, int64_t out, const SpatialSizes& kernel,
                   const ConvLayerOptions& options);
void start_conv(Tensor& weight, Tensor& bias);
/// Returns the settings without defaults, as in "3 -> 8, kernel [3, 3], stride [2, 2], no bias".
std::string conv_settings(const Tensor& weight, const Tensor& bias, const ConvOptions& options);

/// Layer that applies the operation `convolve`.
template <class Derived, int64_t axes, auto convolve>
class ConvLayer : public Layer<Derived> {
 public:
  using Options = ConvLayerOptions;

  /// Throws Error (config) for sizes below 1, or if groups does not divide in and out.
  ConvLayer(int64_t in, int64_t out, const SpatialSizes& kernel, const ConvLayerOptions& options = {})
      : weight(this, "weight", conv_weight(Derived::kType, axes, in, out, kernel, options)),
        bias(this, "bias", options.bias ? zeros({out}) : Tensor()),
        options_{.stride = options.stride,
                 .padding = options.padding,
                 .dilation = options.dilation,
                 .groups = options.groups} {
    start_conv(weight, bias);
  }
  Tensor forward(const Tensor& x) const { return convolve(x, weight, bias, options_); }
  const ConvOptions& options() const { return options_; }
  std::string settings() const final { return conv_settings(weight, bias, options_); }

  Parameter weight, bias;

 private:
  ConvOptions options_;
};

}  // namespace detail

/// y = weight * x + bias, a cross-correlation: x [N, in, L] or [in, L] -> [N, out, L'] or [out, L'] (formula and L' at
/// conv1d()); weight [out, in / groups, kernel], bias [out]. Both are initialized uniformly in
/// +- 1 / sqrt(in / groups * kernel), torch.nn's Kaiming uniform with a = sqrt(5). Throws as conv1d().
class Conv1d : public detail::ConvLayer<Conv1d, 1, conv1d> {
 public:
  static constexpr const char* kType = "Conv1d";  ///< the class name in errors
  using ConvLayer::ConvLayer;
};

/// The same over two axes: x [N, in, H, W] or [in, H, W] -> [N, out, H', W'] or [out, H', W']; weight [out, in /
/// groups, KH, KW].
class Conv2d : public detail::ConvLayer<Conv2d, 2, conv2d> {
 public:
  static constexpr const char* kType = "Conv2d";  ///< the class name in errors
  using ConvLayer::ConvLayer;
};

}  // namespace tape::nn
