#pragma once

#include "../../tensor.h"
#include "spatial.h"

namespace tape {

// One number of each window of the last axis or the last two: x [N, C, L] or [C, L], for ...2d [N, C, H, W] or [C, H,
// W]; a window is `kernel` values long (and wide), a number or one for each axis. The result has floor((L + 2 padding -
// dilation (kernel - 1) - 1) / stride) + 1 values in place of L. Names and meaning are torch.nn.functional's. Floating
// dtypes (Error (dtype) for others); Error (shape) for other ranks and where no window fits, (config) for sizes below 1
// and for padding that is negative or above half of the kernel.

struct MaxPoolOptions {
  SpatialSizes stride = {};  ///< the kernel's size where it is not given
  SpatialSizes padding = 0;  ///< with -inf
  SpatialSizes dilation = 1;
  bool ceil_mode = false;  ///< a last window that reaches over the end counts, if it begins before it
};
/// The largest value of each window, which alone gets the gradient; of equal ones the first. NaN wins.
Tensor max_pool1d(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});
Tensor max_pool2d(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});

struct MaxPool {
  Tensor values;
  Tensor indices;  ///< i64: where each stands in its plane, row after row
};
MaxPool max_pool1d_with_indices(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});
MaxPool max_pool2d_with_indices(const Tensor& x, const SpatialSizes& kernel, const MaxPoolOptions& options = {});

struct AvgPoolOptions {
  SpatialSizes stride = {};       ///< the kernel's size where it is not given
  SpatialSizes padding = 0;       ///< with zeros
  bool ceil_mode = false;         ///< as MaxPoolOptions says
  bool count_include_pad = true;  ///< whether padding counts in the divisor
};
/// The mean of each window; what reaches over the padding behind the end never counts.
Tensor avg_pool1d(const Tensor& x, const SpatialSizes& kernel, const AvgPoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const SpatialSizes& kernel, const AvgPoolOptions& options = {});

/// Means of `size` stretches of each axis that share its values as evenly as may be: stretch i of n is [floor(i L / n),
/// ceil((i + 1) L / n)).
Tensor adaptive_avg_pool1d(const Tensor& x, const SpatialSizes& size);
Tensor adaptive_avg_pool2d(const Tensor& x, const SpatialSizes& size);

}  // namespace tape
