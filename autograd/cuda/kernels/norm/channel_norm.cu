// Group and batch normalization: y = (x - mean) rstd weight + bias. The threads that share a group of values, or a
// plane, are those of lines.h.
#include "../lines.h"
#include "channel_shape.h"

namespace {

/// Position in x of value k of a channel, over all of outer.
__device__ inline int64_t index_in_channel(const ChannelShape& shape, int64_t channel, int64_t k) {
  if (shape.size == 1) return k * shape.channels + channel;
  return (k / shape.size * shape.channels + channel) * shape.size + k % shape.size;
}

/// running = (1 - momentum) running + momentum value
template <class T>
__device__ void move_towards(T* running, double momentum, double value) {
  if (running) *running = static_cast<T>((1 - momentum) * static_cast<double>(*running) + momentum * value);
}

/// Mean and rstd of each group (0 if it has no values), and the running mean and unbiased variance, if not null.
template <class T>
__device__ void channel_statistics(ChannelShape shape, const T* x, double eps, double momentum, T* running_mean,
                                   T* running_var, T* mean, T* rstd) {
  const int64_t n = shape.values();
  const double count = static_cast<double>(n);
  for_lines(shape.groups(), [&](int64_t group) {
    const auto at = [&](int64_t k) { return shape.per_plane() ? group * n + k : index_in_channel(shape, group, k); };
    LongSum<T> sum, squares;
    for_positions(0, n, [&](int64_t k) { sum.add(x[at(k)]); });
    const T mu = n > 0 ? static_cast<T>(sum.of_line() / count) : T(0);
    for_positions(0, n, [&](int64_t k) {
      const T d = x[at(k)] - mu;
      squares.add(d * d);
    });
    const double total = squares.of_line();
    if (threadIdx.x != 0) return;
    mean[group] = mu;
    rstd[group] = n > 0 ? static_cast<T>(1 / sqrt(total / count + eps)) : T(0);
    if (n == 0) return;
    move_towards(running_mean ? running_mean + group : nullptr, momentum, static_cast<double>(mu));
    move_towards(running_var ? running_var + group : nullptr, momentum, 1 / (count - 1) * total);
  });
}

/// The given statistics of each channel; 0 if it has no values.
template <class T>
__device__ void channel_statistics_given(ChannelShape shape, const T* given_mean, const T* given_var, double eps,
                                         T* mean, T* rstd) {
  const bool any = shape.values() > 0;
  for (int64_t c = thread_of_grid(); c < shape.channels; c += threads_of_grid()) {
    mean[c] = any ? given_mean[c] : T(0);
    rstd[c] = any ? static_cast<T>(1 / sqrt(static_cast<double>(given_var[c]) + eps)) : T(0);
  }
}

/// y = (x - mean) rstd weight + bias
template <class T>
__device__ void channel_normalize(ChannelShape shape, const T* x, const T* mean, const T* rstd, const T* weight,
                                  const T* bias, T* y) {
  for_lines(shape.planes(), [&](int64_t plane) {
    const int64_t group = shape.group_of(plane), channel = plane % shape.channels, at = plane * shape.size;
    const T mu = mean[group], scale = weight ? rstd[group] * weight[channel] : rstd[group];
    const T shift = bias ? bias[channel] : T(0);
    for_positions(0, shape.size, [&](int64_t s) { y[at + s] = (x[at + s] - mu) * scale + shift; });
  });
}

/// sums of dy, products = sums of dy (x - mean), per plane or per channel.
template <class T>
__device__ void channel_sums(ChannelShape shape, const T* x, const T* mean, const T* dy, double* sums,
                             double* products) {
  const int64_t n = shape.per_plane() ? shape.size : shape.values();
  for_lines(shape.sums(), [&](int64_t i) {
    const T mu = mean[shape.group_of_sum(i)];
    LongSum<T> sum, product;
    for_positions(0, n, [&](int64_t k) {
      const int64_t at = shape.per_plane() ? i * n + k : index_in_channel(shape, i, k);
      sum.add(dy[at]);
      product.add(dy[at] * (x[at] - mu));
    });
    const double of_dy = sum.of_line(), of_products = product.of_line();
    if (threadIdx.x != 0) return;
    sums[i] = of_dy;
    products[i] = of_products;
  });
}

/// dweight = sum of dy n, dbias = sum of dy of each channel; either may be null.
template <class T>
__device__ void channel_parameter_gradients(ChannelShape shape, const T* rstd, const double* sums,
                                            const double* products, T* dweight, T* dbias) {
  for (int64_t c = thread_of_grid(); c < shape.channels; c += threads_of_grid()) {
    double weight = 0, bias = 0;
    for (int64_t i = c; i < shape.sums(); i += shape.channels) {
      weight += products[i] * static_cast<double>(rstd[shape.group_of_sum(i)]);
      bias += sums[i];
    }
    if (dweight) dweight[c] = static_cast<T>(weight);
    if (dbias) dbias[c] = static_cast<T>(bias);
  }
}

/// Of each group, with g = dy weight: slope = -rstd^3 mean(g (x - mean)), shift = -rstd mean(g).
template <class T>
__device__ void channel_group_gradients(ChannelShape shape, const T* weight, const T* rstd, const double* sums,
                                        const double* products, T* slope, T* shift) {
  const int64_t sharing = shape.per_plane() ? shape.together : 1;
  const double count = static_cast<double>(shape.values());
  for_lines(shape.groups(), [&](int64_t group) {
    double g = 0, product = 0;
    for_positions(0, sharing, [&](int64_t k) {
      const int64_t i = group * sharing + k;
      const double factor = weight ? static_cast<double>(weight[i % shape.channels]) : 1;
      g += factor * sums[i];
      product += factor * products[i];
    });
    g = over_line(g, Add());
    product = over_line(product, Add());
    if (threadIdx.x != 0) return;
    const double r = static_cast<double>(rstd[group]);
    slope[group] = count > 0 ? static_cast<T>(-r * r * r * product / count) : T(0);
    shift[group] = count > 0 ? static_cast<T>(-r * g / count) : T(0);
  });
}

/// dx = dy rstd weight + (x - mean) slope + shift; without the last two if they are null, for a mean that was given.
template <class T>
__device__ void channel_input_gradient(ChannelShape shape, const T* x, const T* weight, const T* mean, const T* rstd,
                                       const T* slope, const T* shift, const T* dy, T* dx) {
  for_lines(shape.planes(), [&](int64_t plane) {
    const int64_t group = shape.group_of(plane), at = plane * shape.size;
    const T mu = mean[group], scale = weight ? rstd[group] * weight[plane % shape.channels] : rstd[group];
    const T a = slope ? slope[group] : T(0), b = shift ? shift[group] : T(0);
    for_positions(0, shape.size, [&](int64_t s) { dx[at + s] = dy[at + s] * scale + (x[at + s] - mu) * a + b; });
  });
}

}  // namespace

TAPE_EXPORT(channel_statistics,
            (ChannelShape shape, const T* x, double eps, double momentum, T* running_mean, T* running_var, T* mean,
             T* rstd),
            (shape, x, eps, momentum, running_mean, running_var, mean, rstd))
TAPE_EXPORT(channel_statistics_given,
            (ChannelShape shape, const T* given_mean, const T* given_var, double eps, T* mean, T* rstd),
            (shape, given_mean, given_var, eps, mean, rstd))
TAPE_EXPORT(channel_normalize,
            (ChannelShape shape, const T* x, const T* mean, const T* rstd, const T* weight, const T* bias, T* y),
            (shape, x, mean, rstd, weight, bias, y))
TAPE_EXPORT(channel_sums, (ChannelShape shape, const T* x, const T* mean, const T* dy, double* sums, double* products),
            (shape, x, mean, dy, sums, products))
TAPE_EXPORT(channel_parameter_gradients,
            (ChannelShape shape, const T* rstd, const double* sums, const double* products, T* dweight, T* dbias),
            (shape, rstd, sums, products, dweight, dbias))
TAPE_EXPORT(channel_group_gradients,
            (ChannelShape shape, const T* weight, const T* rstd, const double* sums, const double* products, T* slope,
             T* shift),
            (shape, weight, rstd, sums, products, slope, shift))
TAPE_EXPORT(channel_input_gradient,
            (ChannelShape shape, const T* x, const T* weight, const T* mean, const T* rstd, const T* slope,
             const T* shift, const T* dy, T* dx),
            (shape, x, weight, mean, rstd, slope, shift, dy, dx))
