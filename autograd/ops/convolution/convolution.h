#pragma once

#include "../../tensor.h"
#include "spatial.h"

namespace tape {

/// Computed padding: none, or as much as preserves the sizes (an odd total puts the extra zero at the end).
enum class PadTo { valid, same };

/// Zeros at both ends of each spatial axis: one value for all axes, one per axis, or PadTo::same.
class ConvPadding {
 public:
  /// Zeros at each end: one number for all axes, or one per axis. Checked by the convolution.
  /// @{
  ConvPadding(int64_t size) : sizes_(size) {}
  ConvPadding(int size) : sizes_(size) {}
  ConvPadding(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  ConvPadding(const SpatialSizes& sizes) : sizes_(sizes) {}
  /// @}
  /// Padding computed from kernel and dilation.
  ConvPadding(PadTo to) : sizes_(0), same_(to == PadTo::same) {}

  const SpatialSizes& sizes() const { return sizes_; }  ///< as given; 0 for a PadTo
  bool same() const { return same_; }                   ///< whether this is PadTo::same

 private:
  SpatialSizes sizes_;
  bool same_ = false;
};

/// Options of convolutions; names and meaning follow torch.nn.functional.
struct ConvOptions {
  SpatialSizes stride = 1;    ///< distance between windows
  ConvPadding padding = 0;    ///< PadTo::same needs stride 1
  SpatialSizes dilation = 1;  ///< distance between values of a window
  int64_t groups = 1;         ///< an output channel sees only the input channels of its group
};

/// y[n, o, i] = bias[o] + sum over c, k of weight[o, c, k] x[n, c, stride i + dilation k - padding] (a
/// cross-correlation): x [N, C, L] or [C, L], weight [O, C / groups, K], bias [O] or undefined -> [N, O, L'] or [O,
/// L'], L' = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1. All of one floating dtype. f16, bf16 and f32
/// are computed in the precision that MatmulPrecisionScope sets.
///
/// Error (shape) if the channels do not fit, `conv1d: weight [8, 3, 5] takes 3 channels in 1 group, x [2, 4, 9] has
/// 4`, if x, weight or bias have other ranks, and if no window fits; (dtype) for different dtypes; (config) for sizes
/// below 1, negative padding and PadTo::same with a stride other than 1.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

/// Convolution over two axes: x [N, C, H, W] or [C, H, W], weight [O, C / groups, KH, KW] -> [N, O, H', W'] or [O, H',
/// W'].
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

}  // namespace tape
