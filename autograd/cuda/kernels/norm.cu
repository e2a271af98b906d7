// Layer and RMS normalization of rows: n = (x - mean) rstd, y = n weight + bias. RMS normalization is the same with a
// mean of 0. The threads that share a row are those of lines.h.
#include "lines.h"

namespace {

template <class T, bool kCentered>
__device__ void normalize(int64_t rows, int64_t cols, const T* x, const T* weight, const T* bias, double eps, T* y,
                          T* mean, T* rstd) {
  const double count = static_cast<double>(cols);
  for_lines(rows, [&](int64_t r) {
    const T* const row = x + r * cols;
    T mu = 0;
    if (kCentered && cols > 0) {
      LongSum<T> sum;
      for_positions(0, cols, [&](int64_t i) { sum.add(row[i]); });
      mu = static_cast<T>(sum.of_line() / count);
    }
    LongSum<T> squares;
    for_positions(0, cols, [&](int64_t i) { squares.add((row[i] - mu) * (row[i] - mu)); });
    const double variance = squares.of_line() / (cols > 0 ? count : 1);
    const T inverse = static_cast<T>(1 / sqrt(variance + eps));
    if (threadIdx.x == 0) {
      if (mean) mean[r] = mu;
      rstd[r] = inverse;
    }
    for_positions(0, cols, [&](int64_t i) {
      T n = (row[i] - mu) * inverse;
      if (weight) n *= weight[i];
      if (bias) n += bias[i];
      y[r * cols + i] = n;
    });
  });
}

/// dx = rstd (g - mean(g) - n mean(g n)), g = dy weight; without centering rstd (g - n mean(g n)).
template <class T, bool kCentered>
__device__ void normalize_backward(int64_t rows, int64_t cols, const T* x, const T* weight, const T* mean,
                                   const T* rstd, const T* dy, T* dx) {
  const double count = static_cast<double>(cols);
  for_lines(rows, [&](int64_t r) {
    const T *const row = x + r * cols, *const dy_row = dy + r * cols, mu = mean ? mean[r] : T(0), inverse = rstd[r];
    const auto gradient = [&](int64_t i) { return weight ? dy_row[i] * weight[i] : dy_row[i]; };
    LongSum<T> sum, products;
    for_positions(0, cols, [&](int64_t i) {
      const T g = gradient(i);
      if (kCentered) sum.add(g);
      products.add(g * ((row[i] - mu) * inverse));
    });
    const T mean_g = kCentered ? static_cast<T>(sum.of_line() / count) : T(0);
    const T mean_gn = static_cast<T>(products.of_line() / count);
    for_positions(0, cols, [&](int64_t i) {
      dx[r * cols + i] = (gradient(i) - mean_g - (row[i] - mu) * inverse * mean_gn) * inverse;
    });
  });
}

template <class T>
__device__ void layer_norm(int64_t rows, int64_t cols, const T* x, const T* weight, const T* bias, double eps, T* y,
                           T* mean, T* rstd) {
  normalize<T, true>(rows, cols, x, weight, bias, eps, y, mean, rstd);
}
template <class T>
__device__ void layer_norm_backward(int64_t rows, int64_t cols, const T* x, const T* weight, const T* mean,
                                    const T* rstd, const T* dy, T* dx) {
  normalize_backward<T, true>(rows, cols, x, weight, mean, rstd, dy, dx);
}
template <class T>
__device__ void rms_norm(int64_t rows, int64_t cols, const T* x, const T* weight, double eps, T* y, T* rstd) {
  normalize<T, false>(rows, cols, x, weight, nullptr, eps, y, nullptr, rstd);
}
template <class T>
__device__ void rms_norm_backward(int64_t rows, int64_t cols, const T* x, const T* weight, const T* rstd, const T* dy,
                                  T* dx) {
  normalize_backward<T, false>(rows, cols, x, weight, nullptr, rstd, dy, dx);
}

/// sums [parts, 2, cols] = the sums of dy n and of dy over `chunk` rows each, a thread per column. mean may be null.
template <class T>
__device__ void norm_parameter_sums(int64_t rows, int64_t cols, int64_t parts, int64_t chunk, const T* x, const T* mean,
                                    const T* rstd, const T* dy, T* sums) {
  for (int64_t at = thread_of_grid(); at < parts * cols; at += threads_of_grid()) {
    const int64_t part = at / cols, i = at % cols, end = min(rows, (part + 1) * chunk);
    T products = 0, sum = 0;
    for (int64_t r = part * chunk; r < end; ++r) {
      const T g = dy[r * cols + i];
      products += g * ((x[r * cols + i] - (mean ? mean[r] : T(0))) * rstd[r]);
      sum += g;
    }
    sums[2 * part * cols + i] = products;
    sums[(2 * part + 1) * cols + i] = sum;
  }
}

}  // namespace

TAPE_EXPORT(layer_norm,
            (int64_t rows, int64_t cols, const T* x, const T* weight, const T* bias, double eps, T* y, T* mean,
             T* rstd),
            (rows, cols, x, weight, bias, eps, y, mean, rstd))
TAPE_EXPORT(layer_norm_backward,
            (int64_t rows, int64_t cols, const T* x, const T* weight, const T* mean, const T* rstd, const T* dy, T* dx),
            (rows, cols, x, weight, mean, rstd, dy, dx))
TAPE_EXPORT(rms_norm, (int64_t rows, int64_t cols, const T* x, const T* weight, double eps, T* y, T* rstd),
            (rows, cols, x, weight, eps, y, rstd))
TAPE_EXPORT(rms_norm_backward,
            (int64_t rows, int64_t cols, const T* x, const T* weight, const T* rstd, const T* dy, T* dx),
            (rows, cols, x, weight, rstd, dy, dx))
TAPE_EXPORT(norm_parameter_sums,
            (int64_t rows, int64_t cols, int64_t parts, int64_t chunk, const T* x, const T* mean, const T* rstd,
             const T* dy, T* sums),
            (rows, cols, parts, chunk, x, mean, rstd, dy, sums))
