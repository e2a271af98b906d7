#pragma once

#include <vector>

#include "../../kernels/convolution/window.h"
#include "../../tensor.h"

// What convolutions and pooling share: windows over the last axis of a tensor or its last two.
namespace tape {

/// Whether a last window that would reach over the end counts.
enum class LastWindow { left_out, counted };

/// What windows over the last axes of a tensor are made of; one number for each.
struct WindowSizes {
  std::vector<int64_t> kernel, stride, before, after, dilation;
  LastWindow last = LastWindow::left_out;
};

/// Throws Error (shape) `conv2d: x must be [C, H, W] or [N, C, H, W], got [3]` for other ranks, and where there is
/// nothing in an axis but the batch.
void check_spatial_input(const char* operation, const Tensor& x, int64_t axes);

/// Windows over the last axis or the last two of x. Error (shape) where not one fits, with both numbers.
kernels::Windows windows_over(const char* operation, const Tensor& x, const WindowSizes& sizes);

/// x's shape with other channels and the sizes that the windows give.
Shape windowed_shape(const Shape& x, const kernels::Windows& windows, int64_t axes, int64_t channels);

/// Every window written out, by public operations: x [planes, rows, columns] -> [planes, rows.out, rows.kernel,
/// columns.out, columns.kernel], with `outside` beyond the border.
Tensor written_out(const Tensor& x, const kernels::Windows& windows, double outside);

}  // namespace tape
