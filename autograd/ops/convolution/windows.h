#pragma once

#include <vector>

#include "../../kernels/convolution/window.h"
#include "../../tensor.h"

// Windows over the last axis of a tensor or its last two, shared by convolution and pooling.
namespace tape {

/// Whether to include a last window that reaches past the end.
enum class LastWindow { left_out, counted };

/// Sizes of windows, one value per axis.
struct WindowSizes {
  std::vector<int64_t> kernel, stride, before, after, dilation;
  LastWindow last = LastWindow::left_out;
};

/// Throws Error (shape) `conv2d: x must be [C, H, W] or [N, C, H, W], got [3]` for other ranks, and if an axis other
/// than the batch is empty.
void check_spatial_input(const char* operation, const Tensor& x, int64_t axes);

/// Windows over the last axis or the last two of x. Error (shape) with both sizes if no window fits.
kernels::Windows windows_over(const char* operation, const Tensor& x, const WindowSizes& sizes);

/// x's shape with the given channels and the windows' output sizes.
Shape windowed_shape(const Shape& x, const kernels::Windows& windows, int64_t axes, int64_t channels);

/// im2col with public operations: x [planes, rows, columns] -> [planes, rows.out, rows.kernel, columns.out,
/// columns.kernel], with `outside` in the padding.
Tensor extract_windows(const Tensor& x, const kernels::Windows& windows, double outside);

}  // namespace tape
