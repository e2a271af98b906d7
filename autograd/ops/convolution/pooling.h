#pragma once

#include "../../tensor.h"
#include "spatial.h"

namespace tape {

// Pooling over the last axis, or for ...2d the last two: x [N, C, L] or [C, L], for ...2d [N, C, H, W] or [C, H, W].
// `kernel` is the window's size, one value or one per axis. The result has floor((L + 2 padding - dilation (kernel - 1)
// - 1) / stride) + 1 values instead of L. Names and meaning follow torch.nn.functional. Floating dtypes; Error (dtype)
// for others, (shape) for other ranks and if no window fits, (config) for sizes below 1 and for padding that is
// negative or more than half of the kernel.

struct MaxPoolOptions {
  SpatialSizes stride = {};  ///< default: kernel
  SpatialSizes padding = 0;  ///< with -inf
  SpatialSizes dilation = 1;
  bool ceil_mode = false;  ///< include a last window that reaches past the end, if it starts before the end
};
/// Maximum of each window. The gradient goes to the maximum, the first one if several are equal. NaN wins.
Tensor max_pool1d(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});
Tensor max_pool2d(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});

struct MaxPool {
  Tensor values;
  Tensor indices;  ///< i64: row-major index of each maximum in its plane
};
MaxPool max_pool1d_with_indices(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});
MaxPool max_pool2d_with_indices(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});

struct AvgPoolOptions {
  SpatialSizes stride = {};       ///< default: kernel
  SpatialSizes padding = 0;       ///< with zeros
  bool ceil_mode = false;         ///< see MaxPoolOptions
  bool count_include_pad = true;  ///< whether the divisor includes padding
};
/// Mean of each window. The part of a window past the padding at the end is never counted.
Tensor avg_pool1d(const Tensor& x, const SpatialSizes& kernel, const AvgPoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const SpatialSizes& kernel, const AvgPoolOptions& options = {});

/// Means of `size` sections per axis, as equal as possible: section i of n is [floor(i L / n), ceil((i + 1) L / n)).
Tensor adaptive_avg_pool1d(const Tensor& x, const SpatialSizes& size);
Tensor adaptive_avg_pool2d(const Tensor& x, const SpatialSizes& size);

}  // namespace tape
