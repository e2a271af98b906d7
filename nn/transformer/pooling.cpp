#include "nn/transformer/pooling.h"

namespace tape::nn {
namespace {

template <class Options>
std::string settings_of(const char* type, int64_t axes, const SpatialSizes& kernel, const Options& options) {
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

std::string detail::pool_settings(const char* type, int64_t axes, const SpatialSizes& kernel,
                                  const MaxPoolOptions& options) {
  return settings_of(type, axes, kernel, options);
}
std::string detail::pool_settings(const char* type, int64_t axes, const SpatialSizes& kernel,
                                  const AvgPoolOptions& options) {
  return settings_of(type, axes, kernel, options);
}

}  // namespace tape::nn
