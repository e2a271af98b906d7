#pragma once

#include "../../tensor.h"
#include "spatial.h"

namespace tape {

/// Padding that is worked out: none, or as much as keeps the sizes (the odd one of it behind).
enum class PadTo { valid, same };

/// Zeros at both ends of each spatial axis: a number, one for each axis, or PadTo::same.
class ConvPadding {
 public:
  ConvPadding(int64_t size) : sizes_(size) {}
  ConvPadding(int size) : sizes_(size) {}
  ConvPadding(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  ConvPadding(const SpatialSizes& sizes) : sizes_(sizes) {}
  ConvPadding(PadTo to) : sizes_(0), same_(to == PadTo::same) {}

  const SpatialSizes& sizes() const { return sizes_; }
  bool same() const { return same_; }

 private:
  SpatialSizes sizes_;
  bool same_ = false;
};

/// Options of convolutions, with torch.nn.functional's names and meaning.
struct ConvOptions {
  SpatialSizes stride = 1;    ///< from one window to the next
  ConvPadding padding = 0;    ///< PadTo::same wants a stride of 1
  SpatialSizes dilation = 1;  ///< from one value of a window to the next
  int64_t groups = 1;         ///< output channel o sees the input channels of its group alone
};

/// y[n, o, i] = bias[o] + sum over c, k of weight[o, c, k] x[n, c, stride i + dilation k - padding] (a
/// cross-correlation): x [N, C, L] or [C, L], weight [O, C / groups, K], bias [O] or undefined -> [N, O, L'] or [O,
/// L'], L' = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1. All of one floating dtype, f32 and
/// below in the precision that MatmulPrecisionScope sets.
///
/// Error (shape) where the channels do not fit, `conv1d: weight [8, 3, 5] takes 3 channels in 1 group, x [2, 4, 9] has
/// 4`, where x, weight or bias have other ranks, and where no window fits; (dtype) where dtypes differ; (config) for
/// sizes below 1, negative padding and PadTo::same with a stride.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

/// The same over two axes: x [N, C, H, W] or [C, H, W], weight [O, C / groups, KH, KW] -> [N, O, H', W'] or [O, H',
/// W'].
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

}  // namespace tape
