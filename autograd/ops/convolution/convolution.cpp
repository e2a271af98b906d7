#include "autograd/ops/convolution/convolution.h"

#include "autograd/create.h"
#include "autograd/kernels/convolution/common/convolution.h"
#include "autograd/ops/check.h"
#include "autograd/ops/convolution/windows.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

using kernels::Convolution;

constexpr std::string_view kConvForward =
                               "y{y}[o, i] = Σ weight{1}[o, c, k] x{0}[c, {stride} i + {dilation} k − "
                               "{padding}] over c and k<2: + bias{2}[o]>, {groups} group(s)",
                           kConvBackwardX =
                               "dx{x}[c, j] = Σ weight[o, c, k] dy[o, i] over o and all i, k with {stride} "
                               "i + {dilation} k − {padding} = j",
                           kConvBackwardWeight =
                               "dweight{x}[o, c, k] = Σ dy[o, i] x[c, {stride} i + {dilation} k − "
                               "{padding}] over i and the batch",
                           kConvBackwardBias = "dbias{x}[o] = Σ dy[o, i] over i and the batch";

/// The windows of a recorded call; their count comes from its output.
kernels::Windows windows_of(const PerSampleCall& call) {
  using Sizes = std::vector<int64_t>;
  const Tensor &x = call.inputs[0], &weight = call.inputs[1];
  const auto stride = *call.node.attributes.get<Sizes>("stride"), before = *call.node.attributes.get<Sizes>("padding"),
             dilation = *call.node.attributes.get<Sizes>("dilation");
  const auto along = [&](size_t i) {
    const int64_t axis = static_cast<int64_t>(i) - std::ssize(stride);
    return kernels::Window{x.size(axis), weight.size(axis), stride[i],
                           before[i],    dilation[i],       call.gradient.size(axis)};
  };
  return stride.size() == 1 ? kernels::Windows{.rows = {}, .columns = along(0)}
                            : kernels::Windows{.rows = along(0), .columns = along(1)};
}

/// dweight_b and dbias_b as in the formulas, over the batch rows of one sample.
Tensor conv_per_sample(const PerSampleCall& call) {
  const Tensor &x = call.inputs[0], &weight = call.inputs[1], &dy = call.gradient;
  if (call.input == 0 || call.axis != 0 || x.rank() != weight.rank()) return {};
  const int64_t rows = x.size(0) / call.samples, out = weight.size(0);
  if (call.input == 2) return sum(reshape(dy, {call.samples, rows, out, -1}), {1, 3});
  const int64_t groups = *call.node.attributes.get<int64_t>("groups");
  const Convolution one{.batch = rows,
                        .groups = groups,
                        .in_channels = weight.size(1),
                        .out_channels = out / groups,
                        .windows = windows_of(call),
                        .precision = MatmulPrecisionScope::current()};
  Tensor dweight = empty(weight.shape().inserted(0, call.samples), weight.options());
  run_kernels(call.node.name(), x.device(), [&](const KernelCall& at) {
    dispatch_floating(call.node.name(), x.dtype(), [&]<class T>(T) {
      kernels::convolution<T>(at).weight_gradients(one, call.samples, at.in<T>(x), at.in<T>(dy), at.out<T>(dweight));
    });
  });
  return dweight;
}

const Op conv1d_op({.name = "conv1d",
                    .formula = {.forward = kConvForward,
                                .backward = {kConvBackwardX, kConvBackwardWeight, kConvBackwardBias}},
                    .per_sample = conv_per_sample});

const Op conv2d_op({.name = "conv2d",
                    .formula = {.forward = kConvForward,
                                .backward = {kConvBackwardX, kConvBackwardWeight, kConvBackwardBias}},
                    .per_sample = conv_per_sample});

void check_conv_operands(const char* name, const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t axes,
                         int64_t groups) {
  check_parameter_dtype(name, x, weight);
  check_spatial_input(name, x, axes);
  if (weight.rank() != axes + 2 || weight.numel() == 0)
    raise(ErrorKind::shape, "{}: weight must be {} with no empty axis, got {}", name,
          axes == 1 ? "[O, C / groups, K]" : "[O, C / groups, KH, KW]", to_string(weight.shape()));
  const int64_t channels = x.size(-axes - 1), out = weight.size(0);
  if (groups < 1) raise(ErrorKind::config, "{}: groups must be at least 1, got {}", name, groups);
  const int64_t taken = checked_multiply(weight.size(1), groups, name);
  if (taken != channels)
    raise(ErrorKind::shape, "{}: weight {} takes {} channels in {} group{}, x {} has {}", name,
          to_string(weight.shape()), taken, groups, groups == 1 ? "" : "s", to_string(x.shape()), channels);
  if (out % groups != 0)
    raise(ErrorKind::shape, "{}: {} groups do not divide the {} output channels of weight {}", name, groups, out,
          to_string(weight.shape()));
  if (!bias.defined()) return;
  check_same_dtype(name, weight, bias);
  if (!(bias.shape() == Shape{out}))
    raise(ErrorKind::shape, "{}: bias must be [{}], got {}", name, out, to_string(bias.shape()));
}

WindowSizes window_sizes(const char* name, const Tensor& weight, int64_t axes, const ConvOptions& options) {
  WindowSizes sizes{.kernel = {weight.shape().begin() + 2, weight.shape().end()},
                    .stride = options.stride.of(name, "stride", axes, 1),
                    .before = options.padding.sizes().of(name, "padding", axes, 0),
                    .after = {},
                    .dilation = options.dilation.of(name, "dilation", axes, 1)};
  sizes.after = sizes.before;
  if (!options.padding.same()) return sizes;
  for (size_t i = 0; i < sizes.kernel.size(); ++i) {
    if (sizes.stride[i] != 1) raise(ErrorKind::config, "{}: PadTo::same needs stride 1, got {}", name, sizes.stride[i]);
    const int64_t both = sizes.dilation[i] * (sizes.kernel[i] - 1);
    sizes.before[i] = both / 2;
    sizes.after[i] = both - both / 2;
  }
  return sizes;
}

struct Convolve {
  Convolution s;
  Shape shape;

  Results<1> results(Inputs in) const { return {{empty(shape, in[0].options())}}; }
  void forward(const auto& c) const { kernels::convolution(c).forward(s, c.in(0), c.in(1), c.in(2), c.out()); }
  void backward(const auto& c) const {
    kernels::convolution(c).backward(s, c.in(0), c.in(1), c.dout(), c.din(0), c.din(1), c.din(2));
  }
  /// im2col, and one matrix product per group.
  Tensor reference(Inputs in) const {
    const Tensor &x = in[0], &weight = in[1], &bias = in[2];
    const int64_t channels = s.groups * s.in_channels, depth = s.in_channels * s.windows.taps();
    const kernels::Window &rows = s.windows.rows, &columns = s.windows.columns;
    const Tensor planes = reshape(x, {s.batch * channels, rows.in, columns.in});
    const Tensor values = permute(extract_windows(planes, s.windows, 0), {0, 2, 4, 1, 3});
    const Tensor unfolded = reshape(values, Shape{s.batch, s.groups, depth, s.windows.out()});
    const Tensor y = reshape(matmul(reshape(weight, Shape{s.groups, s.out_channels, depth}), unfolded), shape);
    if (!bias.defined()) return y;
    return y + reshape(bias, weight.rank() == 3 ? Shape{bias.numel(), 1} : Shape{bias.numel(), 1, 1});
  }
};

Tensor convolution(const Op& op, int64_t axes, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const ConvOptions& options) {
  const char* const name = op.name();
  check_conv_operands(name, x, weight, bias, axes, options.groups);
  const WindowSizes sizes = window_sizes(name, weight, axes, options);
  const Convolution s{.batch = x.rank() == axes + 2 ? x.size(0) : 1,
                      .groups = options.groups,
                      .in_channels = weight.size(1),
                      .out_channels = weight.size(0) / options.groups,
                      .windows = windows_over(name, x, sizes),
                      .precision = MatmulPrecisionScope::current()};
  for (int64_t size : {s.windows.in(), s.windows.out(), weight.numel()}) check_product_size(name, size);
  const Shape shape = windowed_shape(x.shape(), s.windows, axes, weight.size(0));
  return fused(
      op, {x, weight, bias}, Convolve{s, shape},
      {{"stride", sizes.stride}, {"padding", sizes.before}, {"dilation", sizes.dilation}, {"groups", options.groups}});
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolution(conv1d_op, 1, x, weight, bias, options);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolution(conv2d_op, 2, x, weight, bias, options);
}

}  // namespace tape
