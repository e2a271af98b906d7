#include "nn/convolution.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "nn/init.h"

namespace tape::nn {

Tensor detail::conv_weight(const char* type, int64_t axes, int64_t in, int64_t out, const SpatialSizes& kernel,
                           const ConvLayerOptions& options) {
  check_at_least_one(type, {{"in", in}, {"out", out}, {"groups", options.groups}});
  if (in % options.groups != 0 || out % options.groups != 0)
    raise(ErrorKind::config, "{}: groups {} must divide the channels {} -> {}", type, options.groups, in, out);
  options.stride.of(type, "stride", axes, 1);
  options.padding.sizes().of(type, "padding", axes, 0);
  options.dilation.of(type, "dilation", axes, 1);
  std::vector<int64_t> sizes = kernel.of(type, "kernel", axes, 1);
  sizes.insert(sizes.begin(), {out, in / options.groups});
  return empty(Shape(sizes));
}

void detail::start_conv(Tensor& weight, Tensor& bias) {
  init::kaiming_uniform_(weight, {.nonlinearity = init::Nonlinearity::leaky_relu, .negative_slope = std::sqrt(5.0)});
  const double bound = 1 / std::sqrt(static_cast<double>(init::fans(weight.shape()).in));
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

std::string detail::conv_settings(const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  const int64_t axes = weight.rank() - 2;
  std::string text = fmt::format("{} -> {}", weight.size(1) * options.groups, weight.size(0));
  const auto add = [&](const char* name, const std::vector<int64_t>& sizes, int64_t usual) {
    if (std::ranges::any_of(sizes, [&](int64_t size) { return size != usual; }))
      text += fmt::format(", {} {}", name, to_string(Shape(sizes)));
  };
  add("kernel", {weight.shape().begin() + 2, weight.shape().end()}, 0);
  add("stride", options.stride.of("", "", axes, 1), 1);
  if (options.padding.same())
    text += ", padding same";
  else
    add("padding", options.padding.sizes().of("", "", axes, 0), 0);
  add("dilation", options.dilation.of("", "", axes, 1), 1);
  if (options.groups != 1) text += fmt::format(", groups {}", options.groups);
  return bias.defined() ? text : text + ", no bias";
}

}  // namespace tape::nn
