// Kernels of IndexKernels (autograd/kernels/index/index.h).
#include "autograd/cuda/kernels/device.h"

namespace {

/// keys[c] = index[c].
__device__ void slice_keys(int64_t count, const int64_t* index, uint64_t* keys) {
  for (int64_t c = thread_of_grid(); c < count; c += threads_of_grid()) keys[c] = static_cast<uint64_t>(index[c]);
}

/// keys[e] = the position of element e = [o, c, i] in [outer, size, inner].
__device__ void scatter_keys(int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index,
                             uint64_t* keys) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid())
    keys[e] = static_cast<uint64_t>((e / inner / count * size + index[e]) * inner + e % inner);
}

/// x[o, keys[c], i] += y[o, order[c], i]: the thread of the first of several equal keys adds for all, in their order.
template <class T>
__device__ void add_slices(int64_t n, int64_t size, int64_t inner, int64_t count, const uint64_t* keys,
                           const int64_t* order, const T* y, T* x) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t o = e / inner / count, i = e % inner;
    int64_t c = e / inner % count;
    const uint64_t key = keys[c];
    if (c > 0 && keys[c - 1] == key) continue;
    T* const place = x + (o * size + static_cast<int64_t>(key)) * inner + i;
    T sum = *place;
    for (; c < count && keys[c] == key; ++c) sum += y[(o * count + order[c]) * inner + i];
    *place = sum;
  }
}

/// y = x where the column is in the triangle, else 0.
template <class T>
__device__ void triangle(int64_t n, int64_t rows, int64_t cols, int64_t diagonal, bool lower, const T* x, T* y) {
  // Diagonals may lie far outside the matrix.
  const int64_t far = diagonal > cols ? cols : diagonal < -rows ? -rows : diagonal;
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t row = e / cols % rows, col = e % cols;
    const bool inside = lower ? col - row <= far : col - row >= far;
    y[e] = inside ? x[e] : T(0);
  }
}

}  // namespace

/// x[keys[e]] = expression of old = x[keys[e]] and value = y[order[e]]: the thread of the first of several equal keys
/// does all, in their order.
#define TAPE_SCATTER(name, expression)                                                            \
  namespace {                                                                                     \
  template <class T>                                                                              \
  __device__ void name(int64_t n, const uint64_t* keys, const int64_t* order, const T* y, T* x) { \
    for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {                           \
      const uint64_t key = keys[e];                                                               \
      if (e > 0 && keys[e - 1] == key) continue;                                                  \
      T old = x[key];                                                                             \
      for (int64_t at = e; at < n && keys[at] == key; ++at) {                                     \
        const T value = y[order[at]];                                                             \
        old = expression;                                                                         \
      }                                                                                           \
      x[key] = old;                                                                               \
    }                                                                                             \
  }                                                                                               \
  }                                                                                               \
  TAPE_EXPORT(name, (int64_t n, const uint64_t* keys, const int64_t* order, const T* y, T* x), (n, keys, order, y, x))
TAPE_SCATTER(scatter_add, old + value)
TAPE_SCATTER(scatter_mul, old* value)
TAPE_SCATTER(scatter_max, value > old || value != value ? value : old)
TAPE_SCATTER(scatter_min, value < old || value != value ? value : old)

TAPE_EXPORT_ONE(slice_keys, (int64_t count, const int64_t* index, uint64_t* keys), (count, index, keys))
TAPE_EXPORT_ONE(scatter_keys,
                (int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index, uint64_t* keys),
                (n, size, inner, count, index, keys))
TAPE_EXPORT(add_slices,
            (int64_t n, int64_t size, int64_t inner, int64_t count, const uint64_t* keys, const int64_t* order,
             const T* y, T* x),
            (n, size, inner, count, keys, order, y, x))
TAPE_EXPORT(triangle, (int64_t n, int64_t rows, int64_t cols, int64_t diagonal, bool lower, const T* x, T* y),
            (n, rows, cols, diagonal, lower, x, y))
