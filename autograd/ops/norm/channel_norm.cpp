#include "autograd/ops/norm/channel_norm.h"

#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {

void check_norm_operand(const char* operation, const char* name, const Tensor& x, const Tensor& operand, int64_t axis) {
  if (!operand.defined()) return;
  check_parameter_dtype(operation, x, operand);
  if (!(operand.shape() == Shape{x.size(axis)}))
    raise(ErrorKind::shape, "{}: {} must be [{}] for x {}, got {}", operation, name, x.size(axis), to_string(x.shape()),
          to_string(operand.shape()));
}

void check_norm(const char* operation, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_floating(operation, x);
  if (!(eps >= 0)) raise(ErrorKind::config, "{}: eps must be 0 or more, got {}", operation, eps);
  if (x.rank() < 2 || x.size(1) == 0)
    raise(ErrorKind::shape, "{}: x must be [N, C, ...] with a channel, got {}", operation, to_string(x.shape()));
  check_norm_operand(operation, "weight", x, weight);
  check_norm_operand(operation, "bias", x, bias);
}

Tensor normalized(const Tensor& x, const Axes& axes, double eps) {
  if (x.numel() == 0) return clone(x);
  const Tensor centered = x - mean(x, axes, Dims::keep);
  return centered * rsqrt(mean(square(centered), axes, Dims::keep) + eps);
}

Tensor by_channel(const Tensor& values) { return reshape(values, {values.numel(), 1}); }

Tensor scaled_channels(const Tensor& n, const Tensor& weight, const Tensor& bias) {
  const Tensor y = weight.defined() ? n * by_channel(weight) : n;
  return bias.defined() ? y + by_channel(bias) : y;
}

}  // namespace tape
