#include "autograd/ops/convolution/windows.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

using kernels::Window;

/// Extent of a window, from its first to its last value.
int64_t reach(int64_t kernel, int64_t dilation) { return dilation * (kernel - 1) + 1; }

Window window_along(const char* operation, const Tensor& x, int64_t axis, const WindowSizes& sizes, size_t i) {
  const int64_t kernel = sizes.kernel[i], stride = sizes.stride[i], before = sizes.before[i], after = sizes.after[i];
  const int64_t in = x.size(axis), room = in + before + after, length = reach(kernel, sizes.dilation[i]);
  const bool counted = sizes.last == LastWindow::counted;
  const int64_t steps = room - length + (counted ? stride - 1 : 0);
  if (steps < 0)
    raise(ErrorKind::shape,
          "{}: no window fits axis {} of x {}: {} + {} + {} = {} values, a window takes {} * {} + 1 = {}", operation,
          axis, to_string(x.shape()), before, in, after, room, sizes.dilation[i], kernel - 1, length);
  int64_t out = steps / stride + 1;
  // A window that starts past the values and the leading padding would be empty.
  if (counted && (out - 1) * stride >= in + before) --out;
  return {.in = in, .kernel = kernel, .stride = stride, .before = before, .dilation = sizes.dilation[i], .out = out};
}

/// Padding to add at the end of an axis so that all windows lie inside.
int64_t missing(const Window& w) {
  return std::max<int64_t>(0, (w.out - 1) * w.stride + reach(w.kernel, w.dilation) - w.before - w.in);
}

/// The positions of all values of all windows: [out * kernel].
Tensor positions(const Window& w, Device device) {
  std::vector<int64_t> at;
  for (int64_t i = 0; i < w.out; ++i)
    for (int64_t k = 0; k < w.kernel; ++k) at.push_back(i * w.stride + k * w.dilation);
  return from_vector(at).to(device);
}

}  // namespace

void check_spatial_input(const char* operation, const Tensor& x, int64_t axes) {
  const bool ranks = x.rank() == axes + 1 || x.rank() == axes + 2;
  if (!ranks)
    raise(ErrorKind::shape, "{}: x must be {}, got {}", operation,
          axes == 1 ? "[C, L] or [N, C, L]" : "[C, H, W] or [N, C, H, W]", to_string(x.shape()));
  for (int64_t axis = x.rank() - axes - 1; axis < x.rank(); ++axis)
    if (x.size(axis) == 0)
      raise(ErrorKind::shape, "{}: axis {} of x {} is empty", operation, axis, to_string(x.shape()));
}

kernels::Windows windows_over(const char* operation, const Tensor& x, const WindowSizes& sizes) {
  const size_t axes = sizes.kernel.size();
  const Window last = window_along(operation, x, x.rank() - 1, sizes, axes - 1);
  if (axes == 1) return {.rows = {}, .columns = last};
  return {.rows = window_along(operation, x, x.rank() - 2, sizes, 0), .columns = last};
}

Shape windowed_shape(const Shape& x, const kernels::Windows& windows, int64_t axes, int64_t channels) {
  Shape shape = x.with(x.rank() - axes - 1, channels).with(x.rank() - 1, windows.columns.out);
  return axes == 1 ? shape : shape.with(x.rank() - 2, windows.rows.out);
}

Tensor extract_windows(const Tensor& x, const kernels::Windows& w, double outside) {
  const Tensor bordered = pad(x, {{w.rows.before, missing(w.rows)}, {w.columns.before, missing(w.columns)}}, outside);
  const Tensor lines = index_select(bordered, 1, positions(w.rows, bordered.device()));
  return reshape(index_select(lines, 2, positions(w.columns, lines.device())),
                 Shape{x.size(0), w.rows.out, w.rows.kernel, w.columns.out, w.columns.kernel});
}

}  // namespace tape
