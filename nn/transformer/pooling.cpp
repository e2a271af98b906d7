#include "nn/transformer/pooling.h"

namespace tape::nn {
namespace {

/// "kernel [2, 2], stride [1, 1]": what is as usual is left out.
template <class Options>
std::string pool_settings(const char* type, int64_t axes, const SpatialSizes& kernel, const Options& options) {
  const std::vector<int64_t> sizes = kernel.of(type, "kernel", axes, 1),
                             stride = (options.stride.given() ? options.stride : kernel).of(type, "stride", axes, 1),
                             padding = options.padding.of(type, "padding", axes, 0);
  std::string text = "kernel " + to_string(Shape(sizes));
  if (stride != sizes) text += ", stride " + to_string(Shape(stride));
  if (padding != std::vector<int64_t>(sizes.size(), 0)) text += ", padding " + to_string(Shape(padding));
  if constexpr (requires { options.dilation; })
    if (const std::vector<int64_t> apart = options.dilation.of(type, "dilation", axes, 1);
        apart != std::vector<int64_t>(sizes.size(), 1))
      text += ", dilation " + to_string(Shape(apart));
  if (options.ceil_mode) text += ", ceil mode";
  if constexpr (requires { options.count_include_pad; })
    if (!options.count_include_pad) text += ", padding not counted";
  return text;
}

}  // namespace

// settings() looks at every size.

MaxPool1d::MaxPool1d(const SpatialSizes& kernel, const MaxPoolOptions& options) : kernel_(kernel), options_(options) {
  pool_settings("MaxPool1d", 1, kernel, options);
}
Tensor MaxPool1d::forward(const Tensor& x) const { return max_pool1d(x, kernel_, options_); }
std::string MaxPool1d::settings() const { return pool_settings("MaxPool1d", 1, kernel_, options_); }

MaxPool2d::MaxPool2d(const SpatialSizes& kernel, const MaxPoolOptions& options) : kernel_(kernel), options_(options) {
  pool_settings("MaxPool2d", 2, kernel, options);
}
Tensor MaxPool2d::forward(const Tensor& x) const { return max_pool2d(x, kernel_, options_); }
std::string MaxPool2d::settings() const { return pool_settings("MaxPool2d", 2, kernel_, options_); }

AvgPool1d::AvgPool1d(const SpatialSizes& kernel, const AvgPoolOptions& options) : kernel_(kernel), options_(options) {
  pool_settings("AvgPool1d", 1, kernel, options);
}
Tensor AvgPool1d::forward(const Tensor& x) const { return avg_pool1d(x, kernel_, options_); }
std::string AvgPool1d::settings() const { return pool_settings("AvgPool1d", 1, kernel_, options_); }

AvgPool2d::AvgPool2d(const SpatialSizes& kernel, const AvgPoolOptions& options) : kernel_(kernel), options_(options) {
  pool_settings("AvgPool2d", 2, kernel, options);
}
Tensor AvgPool2d::forward(const Tensor& x) const { return avg_pool2d(x, kernel_, options_); }
std::string AvgPool2d::settings() const { return pool_settings("AvgPool2d", 2, kernel_, options_); }

}  // namespace tape::nn
