#include "autograd/kernels/norm/norm.h"

#include "autograd/kernels/reduce/pairwise_rows.h"
#include "autograd/kernels/vector/row_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Without centering, the mean is taken as 0.
enum class Center { yes, no };

template <class T, Center kCenter>
void normalize(int64_t rows, int64_t cols, const T* x, const T* weight, const T* bias, double eps, T* y, T* mean,
               T* rstd) {
  const double count = static_cast<double>(cols);
  for_chunks(rows, 2 * cols, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r * cols;
      double m = 0;
      if (kCenter == Center::yes && cols) m = row_sum(cols, row, T(0), [](Vec<T> v, int64_t) { return v; }) / count;
      const T mu = static_cast<T>(m);
      const double variance = cols ? row_sum(cols, row, mu,
                                             [mu](Vec<T> v, int64_t) {
                                               const Vec<T> d = v - mu;
                                               return d * d;
                                             }) /
                                         count
                                   : 0;
      const T inverse = static_cast<T>(1 / __builtin_sqrt(variance + eps));
      if (mean) mean[r] = mu;
      rstd[r] = inverse;
      map_row(cols, row, y + r * cols, [&](Vec<T> v, int64_t i) {
        Vec<T> n = (v - mu) * inverse;
        if (weight) n *= load_up_to(weight, i, cols);
        if (bias) n += load_up_to(bias, i, cols);
        return n;
      });
    }
  });
}

template <class T>
void layer_norm(int64_t rows, int64_t cols, const T* x, const T* weight, const T* bias, double eps, T* y, T* mean,
                T* rstd) {
  normalize<T, Center::yes>(rows, cols, x, weight, bias, eps, y, mean, rstd);
}

template <class T>
void rms_norm(int64_t rows, int64_t cols, const T* x, const T* weight, double eps, T* y, T* rstd) {
  normalize<T, Center::no>(rows, cols, x, weight, nullptr, eps, y, nullptr, rstd);
}

/// dx of one row: rstd (g - mean(g) - n mean(g n)), with n the normalized row and g = dy * weight; without centering
/// rstd (g - n mean(g n)).
template <class T, Center kCenter>
TAPE_INLINE void row_gradient(int64_t cols, const T* x, const T* weight, T mu, T inverse, const T* dy, const T* added,
                              T* dx) {
  const auto weighted = [&](Vec<T> g, int64_t i) { return weight ? g * load_up_to(weight, i, cols) : g; };
  const auto normalized = [&](int64_t i) { return (load_up_to(x, i, cols) - mu) * inverse; };
  const double count = static_cast<double>(cols);
  const T mean_g = kCenter == Center::yes ? static_cast<T>(row_sum(cols, dy, T(0), weighted) / count) : T(0);
  const T mean_gn = static_cast<T>(
      row_sum(cols, dy, T(0), [&](Vec<T> g, int64_t i) { return weighted(g, i) * normalized(i); }) / count);
  map_row(cols, dy, dx, [&](Vec<T> g, int64_t i) {
    const Vec<T> gradient = (weighted(g, i) - mean_g - normalized(i) * mean_gn) * inverse;
    return added ? gradient + load_up_to(added, i, cols) : gradient;
  });
}

/// Number of rows whose contributions to dweight and dbias are added sequentially; the sums of these chunks are added
/// pairwise.
constexpr int64_t kMostRows = 256;

template <class T, Center kCenter>
void normalize_backward(int64_t rows, int64_t cols, const T* x, const T* weight, const T* mean, const T* rstd,
                        const T* dy, const T* added, T* dx, T* dweight, T* dbias) {
  if (cols == 0) return;
  const int64_t chunk = larger(1, smaller(kMostRows, kChunk / cols)), chunks = ceil_div(rows, chunk);
  const bool sums = dweight || dbias;
  Scratch<T> partial(sums ? larger(1, chunks) * 2 * cols : 1);  // [chunks, dweight and dbias, cols]
  for_tasks(chunks, chunks > 2, [&](int64_t c) {
    T *dw = partial.data() + c * 2 * cols, *db = dw + cols;
    if (sums) __builtin_memset(dw, 0, static_cast<uint64_t>(2 * cols) * sizeof(T));
    const int64_t end = smaller(rows, (c + 1) * chunk);
    for (int64_t r = c * chunk; r < end; ++r) {
      const T *row = x + r * cols, *g = dy + r * cols, mu = mean ? mean[r] : T(0), inverse = rstd[r];
      if (sums) {
#pragma omp simd
        for (int64_t i = 0; i < cols; ++i) {
          dw[i] += g[i] * ((row[i] - mu) * inverse);
          db[i] += g[i];
        }
      }
      if (dx)
        row_gradient<T, kCenter>(cols, row, weight, mu, inverse, g, added ? added + r * cols : nullptr, dx + r * cols);
    }
  });
  if (!sums) return;
  add_pairwise(chunks, 2 * cols, partial.data());
  const auto finish = [&](T* to, const T* from) {
    if (to && chunks) __builtin_memcpy(to, from, static_cast<uint64_t>(cols) * sizeof(T));
    if (to && !chunks) __builtin_memset(to, 0, static_cast<uint64_t>(cols) * sizeof(T));
  };
  finish(dweight, partial.data());
  finish(dbias, partial.data() + cols);
}

template <class T>
void layer_norm_backward(int64_t rows, int64_t cols, const T* x, const T* weight, const T* mean, const T* rstd,
                         const T* dy, const T* added, T* dx, T* dweight, T* dbias) {
  normalize_backward<T, Center::yes>(rows, cols, x, weight, mean, rstd, dy, added, dx, dweight, dbias);
}

template <class T>
void rms_norm_backward(int64_t rows, int64_t cols, const T* x, const T* weight, const T* rstd, const T* dy,
                       const T* added, T* dx, T* dweight) {
  normalize_backward<T, Center::no>(rows, cols, x, weight, nullptr, rstd, dy, added, dx, dweight, nullptr);
}
}  // namespace

TAPE_DEFINE_TABLES(NormKernels, norm, layer_norm<T>, layer_norm_backward<T>, rms_norm<T>, rms_norm_backward<T>)

}  // namespace tape::kernels::TAPE_LEVEL
