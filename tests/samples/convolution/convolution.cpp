#include "autograd/kernels/convolution/common/convolution.h"
#include "autograd/ops/convolution/convolution.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

using ConvFunction = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ConvOptions&);

OpSample conv_sample(const char* label, ConvFunction f, const Shape& x, const Shape& weight,
                     const ConvOptions& options = {}, bool bias = false) {
  Tensors inputs{sample_normal(x, 1), sample_normal(weight, 2)};
  if (bias) inputs.push_back(sample_normal({weight[0]}, 3));
  return {label, inputs, [=](const Tensors& in) { return f(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options); }};
}

std::vector<OpSample> conv1d_samples() {
  return {conv_sample("bias and padding", conv1d, {2, 3, 5}, {4, 3, 3}, {.padding = 1}, true),
          conv_sample("unbatched, stride", conv1d, {2, 7}, {3, 2, 2}, {.stride = 3}),
          conv_sample("dilation, groups", conv1d, {2, 4, 6}, {2, 2, 2}, {.dilation = 2, .groups = 2}, true),
          conv_sample("depthwise, same", conv1d, {1, 2, 5}, {4, 1, 4}, {.padding = PadTo::same, .groups = 2}, true),
          conv_sample("empty batch", conv1d, {0, 2, 4}, {3, 2, 2}, {}, true)};
}

std::vector<OpSample> conv2d_samples() {
  return {conv_sample("bias and padding", conv2d, {2, 2, 4, 3}, {3, 2, 3, 3}, {.padding = 1}, true),
          conv_sample("unbatched, strides", conv2d, {2, 5, 6}, {2, 2, 2, 3}, {.stride = {2, 3}, .padding = {1, 0}}),
          conv_sample("dilation, groups", conv2d, {1, 4, 5, 4}, {2, 2, 2, 2}, {.dilation = {3, 2}, .groups = 2}, true),
          conv_sample("depthwise", conv2d, {2, 2, 4, 4}, {2, 1, 3, 2}, {.stride = {2, 1}, .padding = 1, .groups = 2}),
          conv_sample("1 x 1 kernel", conv2d, {2, 3, 2, 2}, {4, 3, 1, 1}, {}, true),
          conv_sample("patches", conv2d, {1, 2, 4, 4}, {3, 2, 2, 2}, {.stride = 2}, true),
          conv_sample("empty batch", conv2d, {0, 2, 3, 3}, {2, 2, 2, 2}, {}, true)};
}

const OpSamples samples_of_conv1d("conv1d", conv1d_samples);
const OpSamples samples_of_conv2d("conv2d", conv2d_samples);

}  // namespace
}  // namespace tape
