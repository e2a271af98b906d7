#pragma once

// What group and batch normalization share.

#include <cmath>
#include <vector>

#include "../../kernels/norm/channel_norm.h"
#include "../../kernels/reduce/fold.h"
#include "../../kernels/reduce/reduce.h"
#include "../../tape/tape.h"

namespace tape {

/// x as [N, C, positions], which are normalized with numbers of each plane or of each channel.
struct NormPlanes : kernels::ChannelPlanes {
  NormPlanes(const Tensor& x, Numbers own)
      : ChannelPlanes{x.size(0), x.size(1), x.shape().slice(2, x.rank()).numel(), own} {}
  /// How many numbers there are, and of which channel number i is.
  int64_t count() const { return numbers == Numbers::of_plane ? outer * channels : channels; }
  int64_t channel(int64_t i) const { return i % channels; }
  Shape shape() const { return {outer, channels, size}; }
};

/// Throws Error for an operand, where it is given, that is not [C] (shape) or of another dtype.
void check_norm_operand(const char* operation, const char* name, const Tensor& x, const Tensor& operand);
/// The same for weight and bias, and for x without a channel (shape), of other dtypes than f32 and f64, and a negative
/// eps (config).
void check_norm(const char* operation, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);

/// (x - mean) / sqrt(var + eps) over some axes, by public operations.
Tensor normalized(const Tensor& x, const Axes& axes, double eps);
/// A value a channel, beside [N, C, positions].
Tensor by_channel(const Tensor& values);
/// n [N, C, positions] times the weight plus the bias of each channel, as far as they are given.
Tensor scaled_channels(const Tensor& n, const Tensor& weight, const Tensor& bias);

/// Mean and sum of squares around it of x [outer, size, inner] over its middle axis.
template <class T>
struct Moments {
  Moments(int64_t outer, int64_t size, int64_t inner, const T* x)
      : mean(static_cast<size_t>(outer * inner)), squares(mean.size()) {
    kernels::reduce<T>().sum(outer, size, inner, x, mean.data());
    for (T& value : mean) value /= static_cast<T>(size);
    kernels::fold_axis<T>().sum_of_squares_around(outer, size, inner, x, mean.data(), squares.data());
  }

  std::vector<T> mean, squares;
};

/// y = (x - mean) rstd weight + bias, mean and rstd those of number i of the planes: mean(i), rstd(i).
template <class T, class Mean, class Rstd>
void normalize_planes(const NormPlanes& planes, const Tensor& x, const Mean& mean, const Rstd& rstd,
                      const Tensor& weight, const Tensor& bias, Tensor& y) {
  std::vector<T> centre(static_cast<size_t>(planes.count())), scale(centre.size()), shift(centre.size());
  for (int64_t i = 0; i < planes.count(); ++i) {
    const size_t at = static_cast<size_t>(i);
    centre[at] = mean(i);
    scale[at] = weight.defined() ? rstd(i) * weight.data<T>()[planes.channel(i)] : rstd(i);
    shift[at] = bias.defined() ? bias.data<T>()[planes.channel(i)] : T(0);
  }
  kernels::channel_norm<T>().apply(planes, x.data<T>(), centre.data(), scale.data(), shift.data(), y.mutable_data<T>());
}

/// What the mean and variance of a normalization are made of: x, or nothing that has a gradient.
enum class MeanOf { x, nothing };
/// The gradients of x, weight and bias, which are saved values 0, 1 and 4; 2 and 3 are the mean and rstd of groups of
/// `together` planes, or of channels.
///
/// With n = (x - mean) rstd and g = dy weight: dweight = sum of dy n, dbias = sum of dy, and over the values that share
/// a mean dx = rstd (g - mean(g) - n mean(g n)), whose means are made of the sums of dy and dy (x - mean) of each
/// plane; where the mean is no function of x, dx = rstd g.
Tensors norm_gradients(const BackwardContext& c, kernels::ChannelPlanes::Numbers numbers, int64_t together, MeanOf of);

}  // namespace tape
