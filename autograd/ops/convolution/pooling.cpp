#include "autograd/ops/convolution/pooling.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/convolution/pool.h"
#include "autograd/ops/check.h"
#include "autograd/ops/convolution/windows.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

using kernels::Windows;

using MaxPoolFunction = Tensor (*)(const Tensor&, const SpatialSizes&, const MaxPoolOptions&);
using AvgPoolFunction = Tensor (*)(const Tensor&, const SpatialSizes&, const AvgPoolOptions&);

OpSample max_pool_sample(const char* label, MaxPoolFunction f, const Shape& x, const SpatialSizes& kernel,
                         const MaxPoolOptions& options = {}) {
  return {label, {sample_distinct(x)}, [=](const Tensors& in) { return f(in[0], kernel, options); }};
}

OpSample avg_pool_sample(const char* label, AvgPoolFunction f, const Shape& x, const SpatialSizes& kernel,
                         const AvgPoolOptions& options = {}) {
  return {label, {sample_normal(x)}, [=](const Tensors& in) { return f(in[0], kernel, options); }};
}

std::vector<OpSample> max_pool1d_samples() {
  return {max_pool_sample("halves", max_pool1d, {2, 2, 6}, 2),
          max_pool_sample("unbatched, overlapping", max_pool1d, {2, 7}, 3, {.stride = 2, .padding = 1}),
          max_pool_sample("dilation", max_pool1d, {1, 2, 7}, 2, {.stride = 1, .dilation = 3}),
          max_pool_sample("no batch", max_pool1d, {0, 2, 4}, 2)};
}

std::vector<OpSample> max_pool2d_samples() {
  return {max_pool_sample("halves", max_pool2d, {2, 2, 4, 4}, 2),
          max_pool_sample("overlapping", max_pool2d, {1, 2, 5, 6}, {3, 2}, {.stride = {2, 1}, .padding = 1}),
          max_pool_sample("unbatched, over the end", max_pool2d, {2, 5, 5}, 2, {.ceil_mode = true}),
          max_pool_sample("no batch", max_pool2d, {0, 2, 4, 4}, 2)};
}

std::vector<OpSample> avg_pool1d_samples() {
  return {avg_pool_sample("halves", avg_pool1d, {2, 2, 6}, 2),
          avg_pool_sample("unbatched, overlapping", avg_pool1d, {2, 7}, 3, {.stride = 2, .padding = 1}),
          avg_pool_sample("no batch", avg_pool1d, {0, 2, 4}, 2)};
}

std::vector<OpSample> avg_pool2d_samples() {
  return {avg_pool_sample("halves", avg_pool2d, {2, 2, 4, 4}, 2),
          avg_pool_sample("overlapping", avg_pool2d, {1, 2, 5, 6}, {3, 2}, {.stride = {2, 1}, .padding = 1}),
          avg_pool_sample("border left out, over the end", avg_pool2d, {2, 4, 4}, 3,
                          {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false}),
          avg_pool_sample("no batch", avg_pool2d, {0, 2, 4, 4}, 2)};
}

constexpr std::string_view kMaxForward =
                               "y{y} = the largest of each window of x{0}: {kernel} values from {stride}·i − "
                               "{padding} on, {dilation} apart",
                           kMaxBackward = "dx{x} = dy{y} at the places of the largest, added up; 0 elsewhere",
                           kAvgForward =
                               "y{y} = the mean of each window of x{0}: {kernel} values from {stride}·i − "
                               "{padding} on",
                           kAvgBackward = "dx{x} = dy{y} of all windows that a value is in, each divided by its size";

const Op max_pool1d_op({.name = "max_pool1d",
                        .formula = {.forward = kMaxForward, .backward = {kMaxBackward}},
                        .traits = {.kinks = true},
                        .samples = max_pool1d_samples});
const Op max_pool2d_op({.name = "max_pool2d",
                        .formula = {.forward = kMaxForward, .backward = {kMaxBackward}},
                        .traits = {.kinks = true},
                        .samples = max_pool2d_samples});
const Op avg_pool1d_op({.name = "avg_pool1d",
                        .formula = {.forward = kAvgForward, .backward = {kAvgBackward}},
                        .samples = avg_pool1d_samples});
const Op avg_pool2d_op({.name = "avg_pool2d",
                        .formula = {.forward = kAvgForward, .backward = {kAvgBackward}},
                        .samples = avg_pool2d_samples});

/// Values of a window that are far apart may all lie beyond the border.
void check_values_inside(const char* name, const Tensor& x, const kernels::Window& w) {
  for (int64_t i = 0; i < w.out && w.dilation > 1; ++i) {
    const int64_t start = i * w.stride - w.before;
    const int64_t first = start >= 0 ? start : start + (w.dilation - 1 - start) / w.dilation * w.dilation;
    if (first >= w.in || first > start + (w.kernel - 1) * w.dilation)
      raise(ErrorKind::shape, "{}: window {} of {} values {} apart has none inside x {}", name, i, w.kernel, w.dilation,
            to_string(x.shape()));
  }
}

/// One call: its sizes as they were given, and what they come to.
struct Pooling {
  Pooling(const char* name, int64_t axes, const Tensor& x, const SpatialSizes& kernel, const SpatialSizes& stride,
          const SpatialSizes& padding, const SpatialSizes& dilation, bool ceil_mode) {
    check_floating(name, x);
    check_spatial_input(name, x, axes);
    sizes = {.kernel = kernel.of(name, "kernel", axes, 1),
             .stride = (stride.given() ? stride : kernel).of(name, "stride", axes, 1),
             .before = padding.of(name, "padding", axes, 0),
             .after = {},
             .dilation = dilation.of(name, "dilation", axes, 1),
             .last = ceil_mode ? LastWindow::counted : LastWindow::left_out};
    sizes.after = sizes.before;
    for (size_t i = 0; i < sizes.kernel.size(); ++i)
      if (const int64_t reach = sizes.dilation[i] * (sizes.kernel[i] - 1) + 1; sizes.before[i] > reach / 2)
        raise(ErrorKind::config, "{}: padding must be at most half of what a window reaches over, got {} for {}", name,
              sizes.before[i], reach);
    windows = windows_over(name, x, sizes);
    check_values_inside(name, x, windows.rows);
    check_values_inside(name, x, windows.columns);
    planes = x.shape().slice(0, x.rank() - axes).numel();
    shape = windowed_shape(x.shape(), windows, axes, x.size(-axes - 1));
  }
  /// The windows of all planes, one behind the other: [planes, out, taps].
  Tensor flat_windows(const Tensor& x, double outside) const {
    const Tensor each = written_out(reshape(x, {-1, windows.rows.in, windows.columns.in}), windows, outside);
    return reshape(permute(each, {0, 1, 3, 2, 4}), Shape{each.size(0), windows.out(), windows.taps()});
  }

  WindowSizes sizes = {};
  Windows windows = {};
  int64_t planes = 0;
  Shape shape = {};
};

Tensor composed_max(const Pooling& p, const Tensor& x) {
  const Tensor each = p.flat_windows(x, -INFINITY);
  return reshape(gather(each, -1, argmax(each.detach(), -1, Dims::keep)), p.shape);
}

/// y = x at the places of the largest; dx = dy added there.
MaxPool max_pool(const Op& op, const Pooling& p, const Tensor& x, bool with_indices) {
  const bool places_wanted = with_indices || needs_record({x});
  MaxPool best{empty(p.shape, x.dtype()), places_wanted ? empty(p.shape, i64) : Tensor()};
  dispatch_floating(op.name(), x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::pool<T>().largest(p.windows, p.planes, x.data<T>(), best.values.mutable_data<T>(),
                               places_wanted ? best.indices.mutable_data<int64_t>() : nullptr);
  });
  if (Composed::active()) return {composed_max(p, x), best.indices};
  best.values = record(
      op, {x}, best.values, {best.indices},
      [w = p.windows, planes = p.planes, shape = x.shape()](const BackwardContext& c) -> Tensors {
        const Tensor places = c.saved(0), dy = c.grad();
        if (c.create_graph())
          return {reshape(scatter_add(zeros({planes, w.in()}, dy.dtype()), 1, reshape(places, {planes, w.out()}),
                                      reshape(dy, {planes, w.out()})),
                          shape)};
        Tensor dx = empty(shape, dy.dtype());
        dispatch_floating("max_pool", dy.dtype(), [&](auto zero) {
          using T = decltype(zero);
          kernels::pool<T>().add_at_places(w, planes, places.data<int64_t>(), dy.data<T>(), dx.mutable_data<T>());
        });
        return {dx};
      },
      {{"kernel", p.sizes.kernel},
       {"stride", p.sizes.stride},
       {"padding", p.sizes.before},
       {"dilation", p.sizes.dilation}});
  return best;
}

MaxPool max_pool(const Op& op, int64_t axes, const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options,
                 bool with_indices) {
  const Pooling p(op.name(), axes, x, kernel, options.stride, options.padding, options.dilation, options.ceil_mode);
  return max_pool(op, p, x, with_indices);
}

/// The sum of each window over how many ones it holds, of a plane of ones with a border that counts or does not.
Tensor composed_mean(const Pooling& p, kernels::Border border, const Tensor& x) {
  const kernels::Window &rows = p.windows.rows, &columns = p.windows.columns;
  Windows bordered = p.windows;
  bordered.rows.in += 2 * rows.before, bordered.columns.in += 2 * columns.before;
  bordered.rows.before = bordered.columns.before = 0;
  const Tensor ones_inside =
      pad(ones({1, rows.in, columns.in}, x.dtype()), {{rows.before, rows.before}, {columns.before, columns.before}},
          border == kernels::Border::counted ? 1 : 0);
  const Tensor counts = sum(written_out(ones_inside, bordered, 0), {2, 4});
  const Tensor sums = reshape(sum(p.flat_windows(x, 0), -1), Shape{p.planes, rows.out, columns.out});
  return reshape(sums / counts, p.shape);
}

/// y = the sum of a window / n, so dx = the sum of dy / n over the windows that a value is in.
Tensor avg_pool(const Op& op, int64_t axes, const Tensor& x, const SpatialSizes& kernel,
                const AvgPoolOptions& options) {
  const Pooling p(op.name(), axes, x, kernel, options.stride, options.padding, 1, options.ceil_mode);
  const kernels::Border border = options.count_include_pad ? kernels::Border::counted : kernels::Border::left_out;
  if (Composed::active()) return composed_mean(p, border, x);
  Tensor y = empty(p.shape, x.dtype());
  dispatch_floating(op.name(), x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::pool<T>().mean(p.windows, p.planes, border, x.data<T>(), y.mutable_data<T>());
  });
  return record(op, {x}, y, {},
                [p, border, shape = x.shape()](const BackwardContext& c) -> Tensors {
                  const Tensor dy = c.grad();
                  // Any x does: a mean's gradient is the same everywhere.
                  if (c.create_graph())
                    return twin_gradients(c, {zeros(shape, dy.dtype()).requires_grad_()}, 1,
                                          [&](const Tensors& in) { return Tensors{composed_mean(p, border, in[0])}; });
                  Tensor dx = empty(shape, dy.dtype());
                  dispatch_floating("avg_pool", dy.dtype(), [&](auto zero) {
                    using T = decltype(zero);
                    kernels::pool<T>().mean_gradient(p.windows, p.planes, border, dy.data<T>(), dx.mutable_data<T>());
                  });
                  return {dx};
                },
                {{"kernel", p.sizes.kernel},
                 {"stride", p.sizes.stride},
                 {"padding", p.sizes.before},
                 {"count_include_pad", options.count_include_pad}});
}

/// [in, out]: column i holds 1 / n in the n rows of stretch i.
Tensor shares_of(int64_t in, int64_t out, DType dtype) {
  std::vector<double> shares(static_cast<size_t>(in * out), 0.0);
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    for (int64_t j = begin; j < end; ++j)
      shares[static_cast<size_t>(j * out + i)] = 1.0 / static_cast<double>(end - begin);
  }
  return from_vector(shares, {in, out}).to(dtype);
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
  Tensor across = matmul(x, shares_of(x.size(-1), out.back(), x.dtype()));
  if (axes == 1) return across;
  return matmul(transpose(shares_of(x.size(-2), out.front(), x.dtype())), across);
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
