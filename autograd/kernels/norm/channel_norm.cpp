#include "autograd/kernels/norm/channel_norm.h"

#include "autograd/kernels/reduce/fold.h"
#include "autograd/kernels/reduce/pairwise_rows.h"
#include "autograd/kernels/reduce/reduce.h"
#include "autograd/kernels/vector/row_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

TAPE_INLINE const ReduceKernels<float>& reductions(const float*) { return reduce_f32; }
TAPE_INLINE const ReduceKernels<double>& reductions(const double*) { return reduce_f64; }
TAPE_INLINE const FoldKernels<float>& folds(const float*) { return fold_axis_f32; }
TAPE_INLINE const FoldKernels<double>& folds(const double*) { return fold_axis_f64; }

/// Whether passes over the planes use statistics per plane; otherwise they are per channel.
TAPE_INLINE bool is_per_plane(const ChannelPlanes& s) { return s.together > 0; }
/// Number of statistics in these passes, and number of them that share a mean.
TAPE_INLINE int64_t numbers_of(const ChannelPlanes& s) { return is_per_plane(s) ? s.outer * s.channels : s.channels; }
TAPE_INLINE int64_t sharing(const ChannelPlanes& s) { return larger(1, s.together); }
/// Number of values that share a mean.
TAPE_INLINE int64_t values_together(const ChannelPlanes& s) {
  return s.size * (is_per_plane(s) ? s.together : s.outer);
}

/// Calls body(offset, count, index of the statistics, one_each) for runs of values: planes with one statistic each, or,
/// if a plane is a single value, rows of channels with one statistic per value (one_each).
template <class Body>
TAPE_INLINE void for_planes(const ChannelPlanes& s, const Body& body) {
  const bool per_plane = is_per_plane(s);
  if (s.size == 1) {
    for_chunks(s.outer, 2 * s.channels, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(n * s.channels, s.channels, per_plane ? n * s.channels : 0, true);
    });
    return;
  }
  for_chunks(s.outer * s.channels, 2 * s.size, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) body(p * s.size, s.size, per_plane ? p : p % s.channels, false);
  });
}

/// y = (x - mean) * scale + shift
template <class T>
void apply(const ChannelPlanes& s, const T* x, const T* mean, const T* scale, const T* shift, T* y) {
  for_planes(s, [&](int64_t at, int64_t n, int64_t number, bool one_each) {
    const T *m = mean + number, *a = scale + number, *b = shift + number;
    if (one_each)
      map_row(n, x + at, y + at, [&](Vec<T> v, int64_t i) {
        return (v - load_up_to(m, i, n)) * load_up_to(a, i, n) + load_up_to(b, i, n);
      });
    else
      map_row(n, x + at, y + at, [m = *m, a = *a, b = *b](Vec<T> v, int64_t) { return (v - m) * a + b; });
  });
}

/// dx = dy * scale + (x - mean) * slope + shift
template <class T>
void gradient(const ChannelPlanes& s, const T* x, const T* mean, const T* dy, const T* scale, const T* slope,
              const T* shift, T* dx) {
  for_planes(s, [&](int64_t at, int64_t n, int64_t number, bool one_each) {
    const T *m = mean + number, *a = scale + number, *b = slope + number, *c = shift + number, *from = x + at;
    if (one_each)
      map_row(n, dy + at, dx + at, [&](Vec<T> g, int64_t i) {
        return g * load_up_to(a, i, n) + (load_up_to(from, i, n) - load_up_to(m, i, n)) * load_up_to(b, i, n) +
               load_up_to(c, i, n);
      });
    else
      map_row(n, dy + at, dx + at, [&, m = *m, a = *a, b = *b, c = *c](Vec<T> g, int64_t i) {
        return g * a + (load_up_to(from, i, n) - m) * b + c;
      });
  });
}

/// For planes of a single value: rows are summed one after the other in chunks, and the chunks pairwise.
template <class T>
TAPE_INLINE void sums_of_rows(const ChannelPlanes& s, const T* x, const T* mean, const T* dy, T* dy_sum,
                              T* product_sum) {
  constexpr int64_t kMostRows = 256;
  const int64_t width = s.channels, chunk = larger(1, smaller(kMostRows, kChunk / larger(1, width)));
  const int64_t chunks = ceil_div(s.outer, chunk);
  const Scratch<T> partial(larger(1, chunks) * 2 * width);
  __builtin_memset(partial.data(), 0, static_cast<uint64_t>(larger(1, chunks) * 2 * width) * sizeof(T));
  for_tasks(chunks, chunks > 2, [&](int64_t c) {
    T *g = partial.data() + c * 2 * width, *product = g + width;
    for (int64_t n = c * chunk; n < smaller(s.outer, (c + 1) * chunk); ++n) {
      const T *row = x + n * width, *dy_row = dy + n * width;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) {
        g[i] += dy_row[i];
        product[i] += dy_row[i] * (row[i] - mean[i]);
      }
    }
  });
  add_pairwise(chunks, 2 * width, partial.data());
  __builtin_memcpy(dy_sum, partial.data(), static_cast<uint64_t>(width) * sizeof(T));
  __builtin_memcpy(product_sum, partial.data() + width, static_cast<uint64_t>(width) * sizeof(T));
}

/// The sums of dy and of dy (x - mean), per plane or per channel.
template <class T>
void sums(const ChannelPlanes& s, const T* x, const T* mean, const T* dy, T* dy_sum, T* product_sum) {
  const bool per_plane = is_per_plane(s);
  if (s.size == 1 && !per_plane) return sums_of_rows(s, x, mean, dy, dy_sum, product_sum);
  const int64_t planes = s.outer * s.channels;
  const Scratch<T> room(per_plane ? 1 : 2 * planes);
  T* const g = per_plane ? dy_sum : room.data();
  T* const products = per_plane ? product_sum : room.data() + planes;
  for_chunks(planes, 2 * s.size, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T *from = x + p * s.size, *dy_plane = dy + p * s.size, m = mean[per_plane ? p : p % s.channels];
      g[p] = static_cast<T>(row_sum(s.size, dy_plane, T(0), [](Vec<T> v, int64_t) { return v; }));
      products[p] = static_cast<T>(
          row_sum(s.size, dy_plane, T(0), [&](Vec<T> v, int64_t i) { return v * (load_up_to(from, i, s.size) - m); }));
    }
  });
  if (per_plane) return;
  const auto finish = [&](T* all, T* to) {
    if (s.outer == 0) return void(__builtin_memset(to, 0, static_cast<uint64_t>(s.channels) * sizeof(T)));
    add_pairwise(s.outer, s.channels, all);
    __builtin_memcpy(to, all, static_cast<uint64_t>(s.channels) * sizeof(T));
  };
  finish(g, dy_sum);
  finish(products, product_sum);
}

/// Mean of x, and the sum of squared deviations from it.
template <class T>
void moments(const ChannelPlanes& s, const T* x, T* mean, T* squares) {
  const auto sum = reductions(x).sum;
  const auto squares_around = folds(x).sum_of_squared_deviations;
  const auto divide = [mean](int64_t n, int64_t by) {
    for (int64_t i = 0; i < n; ++i) mean[i] /= static_cast<T>(by);
  };
  const int64_t planes = s.outer * s.channels;
  if (is_per_plane(s)) {
    const int64_t rows = planes / s.together, cols = values_together(s);
    sum(rows, cols, 1, x, mean);
    divide(rows, cols);
    return squares_around(rows, cols, 1, x, mean, squares);
  }
  if (s.size == 1) {
    sum(1, s.outer, s.channels, x, mean);
    divide(s.channels, s.outer);
    return squares_around(1, s.outer, s.channels, x, mean, squares);
  }
  // Over the positions first, then over the batch.
  const Scratch<T> sums(planes), centres(planes);
  sum(planes, s.size, 1, x, sums.data());
  sum(1, s.outer, s.channels, sums.data(), mean);
  divide(s.channels, s.outer);
  divide(s.channels, s.size);
  for (int64_t i = 0; i < planes; ++i) centres[i] = mean[i % s.channels];
  squares_around(planes, s.size, 1, x, centres.data(), sums.data());
  sum(1, s.outer, s.channels, sums.data(), squares);
}

TAPE_INLINE double rstd_of(double var, double eps) { return 1 / __builtin_sqrt(var + eps); }

template <class T>
void move_towards(int64_t n, T* running, const T* own, double scale, double momentum) {
  for (int64_t i = 0; i < n && running; ++i)
    running[i] = static_cast<T>((1 - momentum) * static_cast<double>(running[i]) +
                                momentum * scale * static_cast<double>(own[i]));
}

template <class T>
void scale_planes(const ChannelPlanes& s, const T* x, const T* mean, const T* rstd, const T* weight, const T* bias,
                  T* y) {
  const int64_t n = numbers_of(s);
  const Scratch<T> centre(n), scale(n), shift(n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t group = i / sharing(s), channel = i % s.channels;
    centre[i] = mean[group];
    scale[i] = weight ? rstd[group] * weight[channel] : rstd[group];
    shift[i] = bias ? bias[channel] : T(0);
  }
  apply(s, x, centre.data(), scale.data(), shift.data(), y);
}

template <class T>
void normalize(const ChannelPlanes& s, const T* x, const T* weight, const T* bias, double eps,
               const RunningStats<T>& running, T* y, T* mean, T* rstd) {
  const int64_t groups = numbers_of(s) / sharing(s), together = values_together(s);
  for (int64_t i = 0; i < groups && together == 0; ++i) mean[i] = rstd[i] = 0;
  if (groups == 0 || together == 0) return;
  const double count = static_cast<double>(together);
  const Scratch<T> squares(groups);
  moments(s, x, mean, squares.data());
  for (int64_t i = 0; i < groups; ++i) rstd[i] = static_cast<T>(rstd_of(static_cast<double>(squares[i]) / count, eps));
  move_towards(groups, running.mean, mean, 1, running.momentum);
  move_towards(groups, running.var, squares.data(), 1 / (count - 1), running.momentum);
  scale_planes(s, x, mean, rstd, weight, bias, y);
}

template <class T>
void normalize_by(const ChannelPlanes& s, const T* x, const T* given_mean, const T* given_var, const T* weight,
                  const T* bias, double eps, T* y, T* mean, T* rstd) {
  const bool any = values_together(s) > 0;
  for (int64_t c = 0; c < s.channels; ++c) {
    mean[c] = any ? given_mean[c] : T(0);
    rstd[c] = any ? static_cast<T>(rstd_of(static_cast<double>(given_var[c]), eps)) : T(0);
  }
  scale_planes(s, x, mean, rstd, weight, bias, y);
}

/// dweight = sum of dy n, dbias = sum of dy of each channel.
template <class T>
void parameter_gradients(const ChannelPlanes& s, const T* rstd, const T* dy_sum, const T* product_sum, T* dweight,
                         T* dbias) {
  if (!dweight && !dbias) return;
  const Scratch<double> weight(s.channels), bias(s.channels);
  for (int64_t c = 0; c < s.channels; ++c) weight[c] = bias[c] = 0;
  for (int64_t i = 0; i < numbers_of(s); ++i) {
    weight[i % s.channels] += static_cast<double>(product_sum[i]) * static_cast<double>(rstd[i / sharing(s)]);
    bias[i % s.channels] += static_cast<double>(dy_sum[i]);
  }
  for (int64_t c = 0; c < s.channels && dweight; ++c) dweight[c] = static_cast<T>(weight[c]);
  for (int64_t c = 0; c < s.channels && dbias; ++c) dbias[c] = static_cast<T>(bias[c]);
}

/// With g = dy weight, over the values that share a mean: dx = rstd (g - mean(g) - n mean(g n)); if the mean is given,
/// dx = rstd g. Hence scale = rstd weight, slope = -rstd^3 mean(g (x - mean)), shift = -rstd mean(g).
template <class T>
void input_gradient(const ChannelPlanes& s, MeanOf of, const T* x, const T* weight, const T* centre, const T* rstd,
                    const T* dy, const T* dy_sum, const T* product_sum, T* dx) {
  const int64_t n = numbers_of(s);
  const double count = static_cast<double>(values_together(s));
  const Scratch<T> scale(n), slope(n), shift(n);
  const auto factor = [&](int64_t i) { return weight ? weight[i % s.channels] : T(1); };
  for (int64_t begin = 0; begin < n; begin += sharing(s)) {
    const T inverse = rstd[begin / sharing(s)];
    const double r = static_cast<double>(inverse);
    double g = 0, product = 0;
    for (int64_t i = begin; i < begin + sharing(s); ++i) {
      g += static_cast<double>(factor(i) * dy_sum[i]);
      product += static_cast<double>(factor(i) * product_sum[i]);
    }
    const bool moves = of == MeanOf::x && count > 0;
    for (int64_t i = begin; i < begin + sharing(s); ++i) {
      scale[i] = inverse * factor(i);
      slope[i] = moves ? static_cast<T>(-r * r * r * product / count) : T(0);
      shift[i] = moves ? static_cast<T>(-r * g / count) : T(0);
    }
  }
  gradient(s, x, centre, dy, scale.data(), slope.data(), shift.data(), dx);
}

template <class T>
void backward(const ChannelPlanes& s, MeanOf of, const T* x, const T* weight, const T* mean, const T* rstd, const T* dy,
              T* dx, T* dweight, T* dbias) {
  const int64_t n = numbers_of(s);
  const Scratch<T> centre(n), dy_sum(n), product_sum(n);
  for (int64_t i = 0; i < n; ++i) centre[i] = mean[i / sharing(s)];
  sums(s, x, centre.data(), dy, dy_sum.data(), product_sum.data());
  parameter_gradients(s, rstd, dy_sum.data(), product_sum.data(), dweight, dbias);
  if (dx) input_gradient(s, of, x, weight, centre.data(), rstd, dy, dy_sum.data(), product_sum.data(), dx);
}
}  // namespace

TAPE_DEFINE_TABLES(ChannelNormKernels, channel_norm, normalize<T>, normalize_by<T>, backward<T>)

}  // namespace tape::kernels::TAPE_LEVEL
