#include "autograd/kernels/index.h"

#include "autograd/kernels/index_sort.h"
#include "autograd/kernels/level.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Columns that one task adds to, so that repeated indices add up in one order whatever the number of threads.
constexpr int64_t kColumns = 64;

/// add(o, first column, columns) for every outer index and part of the inner axis.
template <class Add>
TAPE_INLINE void for_columns(int64_t outer, int64_t count, int64_t inner, const Add& add) {
  if (inner == 0) return;
  const int64_t width = outer > 1 ? inner : smaller(inner, kColumns), parts = divide_up(inner, width);
  for_tasks(outer * parts, outer * count * inner > 2 * kChunk, [&](int64_t task) {
    const int64_t first = task % parts * width;
    add(task / parts, first, smaller(width, inner - first));
  });
}

template <class T>
void add_at(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y) {
  for_columns(outer, count, inner, [&](int64_t o, int64_t first, int64_t columns) {
    for (int64_t c = 0; c < count; ++c) {
      T* to = x + (o * size + index[c]) * inner + first;
      const T* from = y + (o * count + c) * inner + first;
#pragma omp simd
      for (int64_t i = 0; i < columns; ++i) to[i] += from[i];
    }
  });
}

/// put(x at the place of y, y) for every element of y.
template <class T, class Put>
TAPE_INLINE void scatter_by(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index,
                            const T* y, const Put& put) {
  for_columns(outer, count, inner, [&](int64_t o, int64_t first, int64_t columns) {
    for (int64_t c = 0; c < count; ++c) {
      const int64_t line = (o * count + c) * inner;
      for (int64_t i = first; i < first + columns; ++i) put(x[(o * size + index[line + i]) * inner + i], y[line + i]);
    }
  });
}

template <class T>
void scatter_add(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y) {
  scatter_by(outer, size, inner, x, count, index, y, [](T& to, T value) { to += value; });
}
template <class T>
void scatter_mul(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y) {
  scatter_by(outer, size, inner, x, count, index, y, [](T& to, T value) { to *= value; });
}
template <class T>
void scatter_best(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y,
                  bool largest) {
  scatter_by(outer, size, inner, x, count, index, y, [largest](T& to, T value) {
    const bool better = largest ? value > to : value < to;
    to = better | (value != value) ? value : to;
  });
}

template <class T>
void triangle(int64_t batch, int64_t rows, int64_t cols, int64_t diagonal, bool lower, const T* x, T* y) {
  for_chunks(batch * rows, cols, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = r % rows;
      // Where the part changes: kept before it (lower) or from it on (upper). Diagonals may lie far outside the matrix.
      const int64_t far = diagonal > cols ? cols : diagonal < -rows ? -rows : diagonal;
      const int64_t edge = larger(0, smaller(cols, row + far + (lower ? 1 : 0)));
      const T* from = x + r * cols;
      T* to = y + r * cols;
      for (int64_t c = 0; c < edge; ++c) to[c] = lower ? from[c] : T(0);
      for (int64_t c = edge; c < cols; ++c) to[c] = lower ? T(0) : from[c];
    }
  });
}
}  // namespace

template <class T>
constexpr IndexKernels<T> kTable = {.add_at = add_at<T>,
                                    .scatter_add = scatter_add<T>,
                                    .scatter_mul = scatter_mul<T>,
                                    .scatter_best = scatter_best<T>,
                                    .sort = sort_axis<T>,
                                    .topk = topk_axis<T>,
                                    .triangle = triangle<T>};
extern const IndexKernels<float> index_f32 = kTable<float>;
extern const IndexKernels<double> index_f64 = kTable<double>;

}  // namespace tape::kernels::TAPE_LEVEL
