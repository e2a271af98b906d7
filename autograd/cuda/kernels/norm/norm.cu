// Layer and RMS normalization of rows: n = (x - mean) rstd, y = n weight + bias. RMS normalization is the same with a
// mean of 0. The threads that share a row are those of lines.h.
#include "../bf16.h"
#include "../lines.h"

namespace {

template <class T, bool kCentered>
__device__ void normalize(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* bias,
                          double eps, T* y, Compute<T>* mean, Compute<T>* rstd) {
  using S = Compute<T>;
  const double count = static_cast<double>(cols);
  for_lines(rows, [&](int64_t r) {
    const T* const row = x + r * cols;
    S mu = 0;
    if (kCentered && cols > 0) {
      LongSum<S> sum;
      for_positions(0, cols, [&](int64_t i) { sum.add(widened(row[i])); });
      mu = static_cast<S>(sum.of_line() / count);
    }
    LongSum<S> squares;
    for_positions(0, cols, [&](int64_t i) {
      const S centered = widened(row[i]) - mu;
      squares.add(centered * centered);
    });
    const double variance = squares.of_line() / (cols > 0 ? count : 1);
    const S inverse = static_cast<S>(1 / sqrt(variance + eps));
    if (threadIdx.x == 0) {
      if (mean) mean[r] = mu;
      rstd[r] = inverse;
    }
    for_positions(0, cols, [&](int64_t i) {
      S n = (widened(row[i]) - mu) * inverse;
      if (weight) n *= weight[i];
      if (bias) n += bias[i];
      y[r * cols + i] = narrowed<T>(n);
    });
  });
}

/// dx = rstd (g - mean(g) - n mean(g n)), g = dy weight; without centering rstd (g - n mean(g n)); plus `added`, which
/// may be null or dx.
template <class T, bool kCentered>
__device__ void normalize_backward(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                   const Compute<T>* mean, const Compute<T>* rstd, const T* dy, const T* added, T* dx) {
  using S = Compute<T>;
  const double count = static_cast<double>(cols);
  for_lines(rows, [&](int64_t r) {
    const T *const row = x + r * cols, *const dy_row = dy + r * cols;
    const S mu = mean ? mean[r] : S(0), inverse = rstd[r];
    const auto gradient = [&](int64_t i) { return weight ? widened(dy_row[i]) * weight[i] : widened(dy_row[i]); };
    LongSum<S> sum, products;
    for_positions(0, cols, [&](int64_t i) {
      const S g = gradient(i);
      if (kCentered) sum.add(g);
      products.add(g * ((widened(row[i]) - mu) * inverse));
    });
    const S mean_g = kCentered ? static_cast<S>(sum.of_line() / count) : S(0);
    const S mean_gn = static_cast<S>(products.of_line() / count);
    for_positions(0, cols, [&](int64_t i) {
      const S n = (widened(row[i]) - mu) * inverse;
      const S other = added ? widened(added[r * cols + i]) : S(0);
      dx[r * cols + i] = narrowed<T>((gradient(i) - mean_g - n * mean_gn) * inverse + other);
    });
  });
}

template <class T>
__device__ void layer_norm(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* bias,
                           double eps, T* y, Compute<T>* mean, Compute<T>* rstd) {
  normalize<T, true>(rows, cols, x, weight, bias, eps, y, mean, rstd);
}
template <class T>
__device__ void layer_norm_backward(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                    const Compute<T>* mean, const Compute<T>* rstd, const T* dy, const T* added,
                                    T* dx) {
  normalize_backward<T, true>(rows, cols, x, weight, mean, rstd, dy, added, dx);
}
template <class T>
__device__ void rms_norm(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, double eps, T* y,
                         Compute<T>* rstd) {
  normalize<T, false>(rows, cols, x, weight, nullptr, eps, y, nullptr, rstd);
}
template <class T>
__device__ void rms_norm_backward(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                  const Compute<T>* rstd, const T* dy, const T* added, T* dx) {
  normalize_backward<T, false>(rows, cols, x, weight, nullptr, rstd, dy, added, dx);
}

/// sums [parts, 2, cols] = the sums of dy n and of dy over `chunk` rows each, a thread per column. mean may be null.
template <class T>
__device__ void norm_parameter_sums(int64_t rows, int64_t cols, int64_t parts, int64_t chunk, const T* x,
                                    const Compute<T>* mean, const Compute<T>* rstd, const T* dy, Compute<T>* sums) {
  for (int64_t at = thread_of_grid(); at < parts * cols; at += threads_of_grid()) {
    const int64_t part = at / cols, i = at % cols, end = min(rows, (part + 1) * chunk);
    Compute<T> products = 0, sum = 0;
    for (int64_t r = part * chunk; r < end; ++r) {
      const Compute<T> g = widened(dy[r * cols + i]), mu = mean ? mean[r] : Compute<T>(0);
      products += g * ((widened(x[r * cols + i]) - mu) * rstd[r]);
      sum += g;
    }
    sums[2 * part * cols + i] = products;
    sums[(2 * part + 1) * cols + i] = sum;
  }
}

}  // namespace

TAPE_EXPORT_WITH_BF16(layer_norm,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* bias,
                       double eps, T* y, Compute<T>* mean, Compute<T>* rstd),
                      (rows, cols, x, weight, bias, eps, y, mean, rstd))
TAPE_EXPORT_WITH_BF16(layer_norm_backward,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* mean,
                       const Compute<T>* rstd, const T* dy, const T* added, T* dx),
                      (rows, cols, x, weight, mean, rstd, dy, added, dx))
TAPE_EXPORT_WITH_BF16(rms_norm,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, double eps, T* y,
                       Compute<T>* rstd),
                      (rows, cols, x, weight, eps, y, rstd))
TAPE_EXPORT_WITH_BF16(rms_norm_backward,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* rstd,
                       const T* dy, const T* added, T* dx),
                      (rows, cols, x, weight, rstd, dy, added, dx))
TAPE_EXPORT_WITH_BF16(norm_parameter_sums,
                      (int64_t rows, int64_t cols, int64_t parts, int64_t chunk, const T* x, const Compute<T>* mean,
                       const Compute<T>* rstd, const T* dy, Compute<T>* sums),
                      (rows, cols, parts, chunk, x, mean, rstd, dy, sums))
