#include "autograd/ops/convolution/pooling.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/convolution/pool.h"
#include "autograd/ops/check.h"
#include "autograd/ops/convolution/windows.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

using kernels::Windows;

constexpr std::string_view kMaxForward =
                               "y{y} = max of each window of x{0}: {kernel} values from {stride}·i − "
                               "{padding} on, {dilation} apart",
                           kMaxBackward = "dx{x} = Σ dy{y} at the positions of the maxima; 0 elsewhere",
                           kAvgForward =
                               "y{y} = mean of each window of x{0}: {kernel} values from {stride}·i − "
                               "{padding} on",
                           kAvgBackward = "dx{x} = Σ dy{y} / window size over all windows that contain the value";

const Op max_pool1d_op({.name = "max_pool1d",
                        .formula = {.forward = kMaxForward, .backward = {kMaxBackward}},
                        .traits = {.has_kinks = true}});
const Op max_pool2d_op({.name = "max_pool2d",
                        .formula = {.forward = kMaxForward, .backward = {kMaxBackward}},
                        .traits = {.has_kinks = true}});
const Op avg_pool1d_op({.name = "avg_pool1d", .formula = {.forward = kAvgForward, .backward = {kAvgBackward}}});
const Op avg_pool2d_op({.name = "avg_pool2d", .formula = {.forward = kAvgForward, .backward = {kAvgBackward}}});

/// With dilation, all values of a window may lie in the padding.
void check_windows_inside(const char* name, const Tensor& x, const kernels::Window& w) {
  for (int64_t i = 0; i < w.out && w.dilation > 1; ++i) {
    const int64_t start = i * w.stride - w.before;
    const int64_t first = start >= 0 ? start : start + (w.dilation - 1 - start) / w.dilation * w.dilation;
    if (first >= w.in || first > start + (w.kernel - 1) * w.dilation)
      raise(ErrorKind::shape, "{}: window {} of {} values with dilation {} lies outside x {}", name, i, w.kernel,
            w.dilation, to_string(x.shape()));
  }
}

/// Checked sizes of one call.
WindowSizes pooling_sizes(const char* name, int64_t axes, const Tensor& x, const SpatialSizes& kernel,
                          const SpatialSizes& stride, const SpatialSizes& padding, const SpatialSizes& dilation,
                          bool ceil_mode) {
  check_floating(name, x);
  check_spatial_input(name, x, axes);
  WindowSizes sizes = {.kernel = kernel.of(name, "kernel", axes, 1),
                       .stride = (stride.given() ? stride : kernel).of(name, "stride", axes, 1),
                       .before = padding.of(name, "padding", axes, 0),
                       .after = {},
                       .dilation = dilation.of(name, "dilation", axes, 1),
                       .last = ceil_mode ? LastWindow::counted : LastWindow::left_out};
  sizes.after = sizes.before;
  for (size_t i = 0; i < sizes.kernel.size(); ++i)
    if (const int64_t reach = sizes.dilation[i] * (sizes.kernel[i] - 1) + 1; sizes.before[i] > reach / 2)
      raise(ErrorKind::config, "{}: padding must be at most half of the window's extent, got {} for {}", name,
            sizes.before[i], reach);
  return sizes;
}

/// Checked windows of one call. The tape stores a copy, so it has no std::vector, whose copy allocates.
struct Pooling {
  Pooling(const char* name, int64_t axes, const Tensor& x, const WindowSizes& sizes)
      : windows(windows_over(name, x, sizes)), planes(x.shape().slice(0, x.rank() - axes).numel()) {
    check_windows_inside(name, x, windows.rows);
    check_windows_inside(name, x, windows.columns);
    shape = windowed_shape(x.shape(), windows, axes, x.size(-axes - 1));
  }
  /// The windows of all planes: [planes, out, taps].
  Tensor flat_windows(const Tensor& x, double outside) const {
    const Tensor each = extract_windows(reshape(x, {-1, windows.rows.in, windows.columns.in}), windows, outside);
    return reshape(permute(each, {0, 1, 3, 2, 4}), Shape{each.size(0), windows.out(), windows.taps()});
  }

  Windows windows;
  int64_t planes;
  Shape shape = {};
};

struct MaxPooling {
  Pooling p;
  Shape from;
  bool with_indices;
  static constexpr bool saves_inputs = false;

  /// Positions are only computed if the caller or the backward pass needs them.
  Results<2, 1> results(Inputs in) const {
    const Tensor positions = with_indices || needs_record(in) ? empty(p.shape, {i64, in[0].device()}) : Tensor();
    return {{empty(p.shape, in[0].options()), with_indices ? positions : Tensor()}, {positions}};
  }
  void forward(const auto& c) const {
    kernels::pool(c).largest(p.windows, p.planes, c.in(0), c.out(), c.template kept_as<int64_t>(0));
  }
  Tensor new_gradient(size_t, const Tensor& dy) const { return empty(from, dy.options()); }
  void backward(const auto& c) const {
    kernels::pool(c).scatter_add_at(p.windows, p.planes, c.template kept_as<int64_t>(0), c.dout(), c.din(0));
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor positions = reshape(c.saved(0), {p.planes, p.windows.out()});
    const Tensor dy = reshape(c.grad(), {p.planes, p.windows.out()});
    return {reshape(scatter_add(zeros({p.planes, p.windows.in()}, dy.options()), 1, positions, dy), from)};
  }
  std::array<Tensor, 2> reference(Inputs in) const {
    const Tensor each = p.flat_windows(in[0], -INFINITY);
    const Tensor plane =
        reshape(arange(p.windows.in(), {i64, in[0].device()}), {1, p.windows.rows.in, p.windows.columns.in});
    const Tensor at = expand_to(p.flat_windows(plane, -1), each.shape());
    // Where all values are -inf, padding ties with them.
    const Tensor first = argmax(each.detach(), -1, Dims::keep), first_inside = argmax(gt(at, -1), -1, Dims::keep);
    const Tensor best = where(lt(gather(at, -1, first), 0), first_inside, first);
    return {reshape(gather(each, -1, best), p.shape), with_indices ? reshape(gather(at, -1, best), p.shape) : Tensor()};
  }
};

MaxPool max_pool(const Op& op, int64_t axes, const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options,
                 bool with_indices) {
  const WindowSizes sizes =
      pooling_sizes(op.name(), axes, x, kernel, options.stride, options.padding, options.dilation, options.ceil_mode);
  const auto [values, indices] = fused(
      op, {x}, MaxPooling{Pooling(op.name(), axes, x, sizes), x.shape(), with_indices},
      {{"kernel", sizes.kernel}, {"stride", sizes.stride}, {"padding", sizes.before}, {"dilation", sizes.dilation}});
  return {values, indices};
}

struct AvgPooling {
  Pooling p;
  Shape from;
  kernels::Border border;
  static constexpr bool saves_inputs = false;

  Results<1> results(Inputs in) const { return {{empty(p.shape, in[0].options())}}; }
  void forward(const auto& c) const { kernels::pool(c).mean(p.windows, p.planes, border, c.in(0), c.out()); }
  Tensor new_gradient(size_t, const Tensor& dy) const { return empty(from, dy.options()); }
  void backward(const auto& c) const {
    kernels::pool(c).mean_gradient(p.windows, p.planes, border, c.dout(), c.din(0));
  }
  /// The mean is linear: its gradient is the same for any x.
  Tensors gradients(const BackwardContext& c) const {
    return reference_gradients(c, {zeros(from, c.grad().options()).requires_grad_()}, 1,
                               [&](const Tensors& in) { return Tensors{reference(in)}; });
  }
  /// Sum of each window divided by its count, which is the sum over a plane of ones with padding counted or not.
  Tensor reference(Inputs in) const {
    const kernels::Window &rows = p.windows.rows, &columns = p.windows.columns;
    Windows bordered = p.windows;
    bordered.rows.in += 2 * rows.before, bordered.columns.in += 2 * columns.before;
    bordered.rows.before = bordered.columns.before = 0;
    const Tensor ones_inside =
        pad(ones({1, rows.in, columns.in}, in[0].options()),
            {{rows.before, rows.before}, {columns.before, columns.before}}, border == kernels::Border::counted ? 1 : 0);
    const Tensor counts = sum(extract_windows(ones_inside, bordered, 0), {2, 4});
    const Tensor sums = reshape(sum(p.flat_windows(in[0], 0), -1), Shape{p.planes, rows.out, columns.out});
    return reshape(sums / counts, p.shape);
  }
};

Tensor avg_pool(const Op& op, int64_t axes, const Tensor& x, const SpatialSizes& kernel,
                const AvgPoolOptions& options) {
  const WindowSizes sizes =
      pooling_sizes(op.name(), axes, x, kernel, options.stride, options.padding, 1, options.ceil_mode);
  const kernels::Border border = options.count_include_pad ? kernels::Border::counted : kernels::Border::left_out;
  return fused(op, {x}, AvgPooling{Pooling(op.name(), axes, x, sizes), x.shape(), border},
               {{"kernel", sizes.kernel},
                {"stride", sizes.stride},
                {"padding", sizes.before},
                {"count_include_pad", options.count_include_pad}});
}

/// [in, out]: column i is 1 / n in the n rows of section i.
Tensor averaging_matrix(int64_t in, int64_t out, const TensorOptions& options) {
  std::vector<double> shares(static_cast<size_t>(in * out), 0.0);
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    for (int64_t j = begin; j < end; ++j)
      shares[static_cast<size_t>(j * out + i)] = 1.0 / static_cast<double>(end - begin);
  }
  return from_vector(shares, {in, out}, options);
}

Tensor adaptive_avg_pool(const char* name, int64_t axes, const Tensor& x, const SpatialSizes& size) {
  check_floating(name, x);
  check_spatial_input(name, x, axes);
  const std::vector<int64_t> out = size.of(name, "size", axes, 1);
  bool even = true;
  std::vector<int64_t> kernel;
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t in = x.size(i - axes), n = out[static_cast<size_t>(i)];
    even = even && in % n == 0;
    kernel.push_back(in / n);
  }
  if (even) return axes == 1 ? avg_pool1d(x, kernel) : avg_pool2d(x, kernel);
  const Tensor values = cast(x, compute_dtype(x.dtype()));
  Tensor y = matmul(values, averaging_matrix(x.size(-1), out.back(), values.options()));
  if (axes == 2) y = matmul(transpose(averaging_matrix(x.size(-2), out.front(), values.options())), y);
  return cast(y, x.dtype());
}

}  // namespace

Tensor max_pool1d(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options) {
  return max_pool(max_pool1d_op, 1, x, kernel, options, false).values;
}
Tensor max_pool2d(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options) {
  return max_pool(max_pool2d_op, 2, x, kernel, options, false).values;
}
MaxPool max_pool1d_with_indices(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options) {
  return max_pool(max_pool1d_op, 1, x, kernel, options, true);
}
MaxPool max_pool2d_with_indices(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options) {
  return max_pool(max_pool2d_op, 2, x, kernel, options, true);
}

Tensor avg_pool1d(const Tensor& x, const SpatialSizes& kernel, const AvgPoolOptions& options) {
  return avg_pool(avg_pool1d_op, 1, x, kernel, options);
}
Tensor avg_pool2d(const Tensor& x, const SpatialSizes& kernel, const AvgPoolOptions& options) {
  return avg_pool(avg_pool2d_op, 2, x, kernel, options);
}

Tensor adaptive_avg_pool1d(const Tensor& x, const SpatialSizes& size) {
  return adaptive_avg_pool("adaptive_avg_pool1d", 1, x, size);
}
Tensor adaptive_avg_pool2d(const Tensor& x, const SpatialSizes& size) {
  return adaptive_avg_pool("adaptive_avg_pool2d", 2, x, size);
}

}  // namespace tape
