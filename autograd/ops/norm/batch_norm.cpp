#include "autograd/ops/norm/batch_norm.h"

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/norm/channel_norm.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "autograd/tape/scope.h"

namespace tape {
namespace {

using Numbers = kernels::ChannelPlanes::Numbers;

std::vector<OpSample> batch_norm_samples() {
  const Tensor running_mean = tensor({0.4, -0.3, 0.1}, f64), running_var = tensor({0.5, 1.5, 2}, f64);
  auto in_training = [](const Tensors& in) {
    return batch_norm(in[0], {}, {}, in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor(),
                      {.training = true});
  };
  auto with_running = [=](const Tensors& in) {
    return batch_norm(in[0], running_mean.to(in[0].dtype()), running_var.to(in[0].dtype()),
                      in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor());
  };
  const Tensor weight = sample_normal({3}, 2), bias = sample_normal({3}, 3);
  return {{"training", {sample_normal({2, 3, 4}, 1), weight, bias}, in_training},
          {"training, no positions", {sample_normal({5, 3}, 1), weight, bias}, in_training},
          {"training, plain", {sample_normal({2, 3, 2, 2}, 1)}, in_training},
          {"running numbers", {sample_normal({2, 3, 2}, 1), weight, bias}, with_running},
          {"running numbers, plain", {sample_normal({2, 3}, 1)}, with_running},
          {"no batch", {sample_normal({0, 3, 2}, 1), weight, bias}, in_training}};
}

const Op batch_norm_op({.name = "batch_norm",
                        .formula = {.forward = "y{y} = n<1: ⊙ weight{1}><2: + bias{2}>, n = (x{0} − mean) · r, r = "
                                               "1/√(var + {eps}), <training:of each channel|the running numbers>",
                                    .backward = {"dx{x} = <training:r (g − mean(g) − n ⊙ mean(g ⊙ n))|r g>, g = dy<1: "
                                                 "⊙ weight>",
                                                 "dweight{x} = Σ dy ⊙ n over all but the channels",
                                                 "dbias{x} = Σ dy over all but the channels"}},
                        .samples = batch_norm_samples});

Tensor composed_batch(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor n = normalized(reshape(x, NormPlanes(x, Numbers::of_channel).shape()), {0, 2}, eps);
  return reshape(scaled_channels(n, weight, bias), x.shape());
}

Tensor composed_running(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                        const Tensor& bias) {
  const Tensor centered = reshape(x, NormPlanes(x, Numbers::of_channel).shape()) - by_channel(mean);
  return reshape(scaled_channels(centered * by_channel(rstd), weight, bias), x.shape());
}

/// Of each channel: over the positions first, then over the batch.
template <class T>
Moments<T> channel_moments(const NormPlanes& planes, const T* x) {
  if (planes.size == 1) return Moments<T>(1, planes.outer, planes.channels, x);
  const int64_t all = planes.outer * planes.channels;
  std::vector<T> sums(static_cast<size_t>(all)), centres(sums.size());
  kernels::reduce<T>().sum(all, planes.size, 1, x, sums.data());
  Moments<T> moments(1, planes.outer, planes.channels, sums.data());
  for (T& mean : moments.mean) mean /= static_cast<T>(planes.size);
  for (int64_t i = 0; i < all; ++i)
    centres[static_cast<size_t>(i)] = moments.mean[static_cast<size_t>(planes.channel(i))];
  kernels::fold_axis<T>().sum_of_squares_around(all, planes.size, 1, x, centres.data(), sums.data());
  kernels::reduce<T>().sum(1, planes.outer, planes.channels, sums.data(), moments.squares.data());
  return moments;
}

/// running = (1 - momentum) running + momentum scale own
template <class T>
void move_towards(Tensor running, const std::vector<T>& own, double scale, double momentum) {
  if (!running.defined()) return;
  T* const values = running.mutable_data<T>();
  for (size_t i = 0; i < own.size(); ++i)
    values[i] = static_cast<T>((1 - momentum) * static_cast<double>(values[i]) +
                               momentum * scale * static_cast<double>(own[i]));
}

void check_batch(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                 const BatchNormOptions& options) {
  check_norm_operand("batch_norm", "running_mean", x, running_mean);
  check_norm_operand("batch_norm", "running_var", x, running_var);
  if (!std::isfinite(options.momentum))
    raise(ErrorKind::config, "batch_norm: momentum must be a number, got {}", options.momentum);
  if (!options.training && !(running_mean.defined() && running_var.defined()))
    raise(ErrorKind::config, "batch_norm: running_mean and running_var must be given outside training");
  const NormPlanes planes(x, Numbers::of_channel);
  if (options.training && planes.outer * planes.size == 1)
    raise(ErrorKind::shape, "batch_norm: training needs more than one value a channel, x is {}", to_string(x.shape()));
}

/// Mean and 1 / sqrt(var + eps) of each channel; in training the running numbers are moved.
struct ChannelNumbers {
  ChannelNumbers(const NormPlanes& planes, const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                 const BatchNormOptions& options)
      : mean(zeros({planes.channels}, x.dtype())), rstd(zeros({planes.channels}, x.dtype())) {
    if (x.numel() == 0) return;
    dispatch_floating("batch_norm", x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const double count = static_cast<double>(planes.outer * planes.size);
      T *const means = mean.mutable_data<T>(), *const inverses = rstd.mutable_data<T>();
      const auto set = [&](int64_t i, T m, double var) {
        means[i] = m;
        inverses[i] = static_cast<T>(1 / std::sqrt(var + options.eps));
      };
      if (!options.training) {
        for (int64_t i = 0; i < planes.channels; ++i)
          set(i, running_mean.data<T>()[i], static_cast<double>(running_var.data<T>()[i]));
        return;
      }
      const Moments<T> moments = channel_moments(planes, x.data<T>());
      for (int64_t i = 0; i < planes.channels; ++i)
        set(i, moments.mean[static_cast<size_t>(i)],
            static_cast<double>(moments.squares[static_cast<size_t>(i)]) / count);
      if (recomputing()) return;
      move_towards(running_mean, moments.mean, 1, options.momentum);
      move_towards(running_var, moments.squares, 1 / (count - 1), options.momentum);
    });
  }

  Tensor mean, rstd;
};

}  // namespace

/// Of each channel: n = (x - mean) r, r = 1 / sqrt(var + eps), y = n weight + bias; gradients as norm_gradients() has
/// them.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options) {
  check_norm("batch_norm", x, weight, bias, options.eps);
  check_batch(x, running_mean, running_var, options);
  const NormPlanes planes(x, Numbers::of_channel);
  const ChannelNumbers own(planes, x, running_mean, running_var, options);
  const bool training = options.training;
  const auto composed = [training, eps = options.eps](const Tensor& in, const Tensor& mean, const Tensor& rstd,
                                                      const Tensor& factor, const Tensor& term) {
    return training ? composed_batch(in, factor, term, eps) : composed_running(in, mean, rstd, factor, term);
  };
  if (Composed::active()) return composed(x, own.mean, own.rstd, weight, bias);
  Tensor y = empty_like(x);
  dispatch_floating("batch_norm", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *const means = own.mean.data<T>(), *const inverses = own.rstd.data<T>();
    normalize_planes<T>(
        planes, x, [=](int64_t i) { return means[i]; }, [=](int64_t i) { return inverses[i]; }, weight, bias, y);
  });
  return record(batch_norm_op, {x, weight, bias}, y, {x, weight, own.mean, own.rstd, bias},
                [composed, training](const BackwardContext& c) -> Tensors {
                  if (!c.create_graph())
                    return norm_gradients(c, Numbers::of_channel, 1, training ? MeanOf::x : MeanOf::nothing);
                  return twin_gradients(c, {c.saved(0), c.saved(1), c.saved(4)}, 1, [&](const Tensors& in) {
                    return Tensors{composed(in[0], c.saved(2), c.saved(3), in[1], in[2])};
                  });
                },
                {{"training", training}, {"eps", options.eps}});
}

}  // namespace tape
