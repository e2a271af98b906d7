#include "autograd/ops/norm/channel_norm.h"

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

template <class T>
struct PlaneSums {
  explicit PlaneSums(int64_t n) : mean(static_cast<size_t>(n)), dy(mean.size()), product(mean.size()) {}
  std::vector<T> mean, dy, product;  // of each plane or channel; product: the sum of dy (x - mean)
};

/// dweight = sum of dy n, dbias = sum of dy of each channel.
template <class T>
void set_parameter_gradients(const NormPlanes& planes, const PlaneSums<T>& sums, const T* rstd, int64_t together,
                             Tensor& dweight, Tensor& dbias) {
  if (!dweight.defined() && !dbias.defined()) return;
  std::vector<double> weight(static_cast<size_t>(planes.channels)), bias(weight.size());
  for (int64_t i = 0; i < planes.count(); ++i) {
    const size_t at = static_cast<size_t>(i), channel = static_cast<size_t>(planes.channel(i));
    weight[channel] += static_cast<double>(sums.product[at]) * static_cast<double>(rstd[i / together]);
    bias[channel] += static_cast<double>(sums.dy[at]);
  }
  for (size_t c = 0; c < weight.size(); ++c) {
    if (dweight.defined()) dweight.mutable_data<T>()[c] = static_cast<T>(weight[c]);
    if (dbias.defined()) dbias.mutable_data<T>()[c] = static_cast<T>(bias[c]);
  }
}

/// dx = dy scale + (x - mean) slope + shift, with scale = rstd weight, slope = -rstd^3 mean(g (x - mean)), shift =
/// -rstd mean(g).
template <class T>
void set_input_gradient(const NormPlanes& planes, const PlaneSums<T>& sums, const BackwardContext& c, int64_t together,
                        double values, Tensor& dx) {
  const Tensor x = c.saved(0), weight = c.saved(1), dy = c.grad();
  const T* const rstd = c.saved(3).data<T>();
  std::vector<T> scale(sums.dy.size()), slope(scale.size()), shift(scale.size());
  const auto factor = [&](int64_t i) { return weight.defined() ? weight.data<T>()[planes.channel(i)] : T(1); };
  for (int64_t begin = 0; begin < planes.count(); begin += together) {
    const double r = static_cast<double>(rstd[begin / together]);
    double g = 0, product = 0;
    for (int64_t i = begin; i < begin + together; ++i) {
      g += static_cast<double>(factor(i) * sums.dy[static_cast<size_t>(i)]);
      product += static_cast<double>(factor(i) * sums.product[static_cast<size_t>(i)]);
    }
    for (int64_t i = begin; i < begin + together; ++i) {
      const size_t at = static_cast<size_t>(i);
      scale[at] = rstd[begin / together] * factor(i);
      if (values == 0) continue;
      slope[at] = static_cast<T>(-r * r * r * product / values);
      shift[at] = static_cast<T>(-r * g / values);
    }
  }
  kernels::channel_norm<T>().gradient(planes, x.data<T>(), sums.mean.data(), dy.data<T>(), scale.data(), slope.data(),
                                      shift.data(), dx.mutable_data<T>());
}

}  // namespace

void check_norm_operand(const char* operation, const char* name, const Tensor& x, const Tensor& operand) {
  if (!operand.defined()) return;
  check_same_dtype(operation, x, operand);
  if (!(operand.shape() == Shape{x.size(1)}))
    raise(ErrorKind::shape, "{}: {} must be [{}] for x {}, got {}", operation, name, x.size(1), to_string(x.shape()),
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

Tensors norm_gradients(const BackwardContext& c, kernels::ChannelPlanes::Numbers numbers, int64_t together, MeanOf of) {
  const Tensor x = c.saved(0), dy = c.grad();
  const NormPlanes planes(x, numbers);
  Tensor dx, dweight, dbias;
  if (c.needs(0)) dx = empty_like(x);
  if (c.needs(1)) dweight = empty_like(c.saved(1));
  if (c.needs(2)) dbias = empty({planes.channels}, x.dtype());
  dispatch_floating("norm", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *const mean = c.saved(2).data<T>(), *const rstd = c.saved(3).data<T>();
    PlaneSums<T> sums(planes.count());
    for (int64_t i = 0; i < planes.count(); ++i) sums.mean[static_cast<size_t>(i)] = mean[i / together];
    kernels::channel_norm<T>().sums(planes, x.data<T>(), sums.mean.data(), dy.data<T>(), sums.dy.data(),
                                    sums.product.data());
    set_parameter_gradients(planes, sums, rstd, together, dweight, dbias);
    const double shared = of == MeanOf::nothing ? 0
                          : numbers == kernels::ChannelPlanes::Numbers::of_plane
                              ? static_cast<double>(together * planes.size)
                              : static_cast<double>(planes.outer * planes.size);
    if (dx.defined()) set_input_gradient(planes, sums, c, together, shared, dx);
  });
  return {dx, dweight, dbias};
}

}  // namespace tape
