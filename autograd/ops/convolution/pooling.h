#pragma once

#include "../../tensor.h"
#include "spatial.h"

namespace tape {

// Pooling over the last one or two axes. Names and meaning follow torch.nn.functional.

/// Options of max_pool1d() and max_pool2d(); a size is for all axes, or one per axis.
struct MaxPoolOptions {
  SpatialSizes stride = {};   ///< default: kernel
  SpatialSizes padding = 0;   ///< with -inf
  SpatialSizes dilation = 1;  ///< distance between values of a window
  bool ceil_mode = false;     ///< include a last window that reaches past the end, if it starts before the end
};
/// Maximum of each window: x [N, C, L] or [C, L], for max_pool2d [N, C, H, W] or [C, H, W], with windows of `kernel`
/// values over the last one or two axes -> floor((L + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 values
/// instead of L. The gradient goes to the maximum, the first one if several are equal. NaN wins. Floating dtypes; Error
/// (dtype) for others, (shape) for other ranks and if no window fits, (config) for sizes below 1 and for padding that
/// is negative or more than half of the kernel.
/// @{
Tensor max_pool1d(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});
Tensor max_pool2d(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});
/// @}

/// Result of max_pool1d_with_indices() and max_pool2d_with_indices().
struct MaxPool {
  Tensor values;   ///< as from max_pool1d() or max_pool2d()
  Tensor indices;  ///< i64: row-major index of each maximum in its plane
};
/// Also returns where each maximum is.
/// @{
MaxPool max_pool1d_with_indices(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});
MaxPool max_pool2d_with_indices(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});
/// @}

/// Options of avg_pool1d() and avg_pool2d().
struct AvgPoolOptions {
  SpatialSizes stride = {};       ///< default: kernel
  SpatialSizes padding = 0;       ///< with zeros
  bool ceil_mode = false;         ///< see MaxPoolOptions
  bool count_include_pad = true;  ///< whether the divisor includes padding
};
/// Mean of each window, shapes and errors as in max_pool1d(). The part of a window past the padding at the end is never
/// counted.
/// @{
Tensor avg_pool1d(const Tensor& x, const SpatialSizes& kernel, const AvgPoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const SpatialSizes& kernel, const AvgPoolOptions& options = {});
/// @}

/// Means of `size` sections per axis, as equal as possible: section i of n is [floor(i L / n), ceil((i + 1) L / n)).
/// @{
Tensor adaptive_avg_pool1d(const Tensor& x, const SpatialSizes& size);
Tensor adaptive_avg_pool2d(const Tensor& x, const SpatialSizes& size);
/// @}

}  // namespace tape
