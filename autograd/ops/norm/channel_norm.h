#pragma once

// Checks and steps shared by normalizations.

#include "../../create.h"
#include "../../kernels/norm/channel_norm.h"
#include "../fused.h"

namespace tape {

/// Throws Error (shape, dtype) for a defined operand that is not [C] or of another dtype than x; C is x's `axis`.
void check_norm_operand(const char* operation, const char* name, const Tensor& x, const Tensor& operand,
                        int64_t axis = 1);
/// Checks weight and bias with check_norm_operand(); throws Error (shape) for x without channels, (dtype) for an x that
/// is not floating, and (config) for a negative eps.
void check_norm(const char* operation, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);

/// (x - mean) / sqrt(var + eps) over the given axes, with public operations.
Tensor normalized(const Tensor& x, const Axes& axes, double eps);
/// Reshapes one value per channel to broadcast against [N, C, positions].
Tensor by_channel(const Tensor& values);
/// n [N, C, positions] times weight plus bias of each channel; either may be undefined.
Tensor scaled_channels(const Tensor& n, const Tensor& weight, const Tensor& bias);

/// Normalization of x as [N, C, positions] with mean and rstd of each channel, or of groups of `together` channels per
/// batch element.
struct ChannelNorm {
  ChannelNorm(const Tensor& x, int64_t together, double added_to_var)
      : planes{x.size(0), x.size(1), x.shape().slice(2, x.rank()).numel(), together}, eps(added_to_var) {}

  kernels::ChannelPlanes planes;
  double eps;

  Results<1, 2> results(Inputs in) const {
    const int64_t groups = planes.together ? planes.outer * planes.channels / planes.together : planes.channels;
    return {{empty_like(in[0])}, {empty({groups}, in[0].options()), empty({groups}, in[0].options())}};
  }
  template <class T>
  void backward_of(const BackwardCall<T>& c, kernels::MeanOf of) const {
    kernels::channel_norm(c).backward(planes, of, c.in(0), c.in(1), c.kept(0), c.kept(1), c.dout(), c.din(0), c.din(1),
                                      c.din(2));
  }
  Shape shape() const { return {planes.outer, planes.channels, planes.size}; }
};

}  // namespace tape
