#include "autograd/kernels/index/index.h"

#include "autograd/kernels/index/common/index_sort.h"
#include "autograd/kernels/index/scatter_loop.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class T>
void add_at(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y) {
  if (size == 0) return;
  for_columns(outer, count, inner, [&](int64_t o, int64_t first, int64_t columns) {
    if (inner == 1) {
      for (int64_t c = 0; c < count; ++c) x[o * size + index[c]] += y[o * count + c];
      return;
    }
    for (int64_t c = 0; c < count; ++c) {
      T* to = x + (o * size + index[c]) * inner + first;
      const T* from = y + (o * count + c) * inner + first;
#pragma omp simd
      for (int64_t i = 0; i < columns; ++i) to[i] += from[i];
    }
  });
}

/// Copies x in parts, and adds to each part while it is in the cache.
template <class T>
void scatter_add(int64_t outer, int64_t size, int64_t inner, const T* x, T* sums, int64_t count, const int64_t* index,
                 const T* y) {
  const auto copy = [=](int64_t o, int64_t first, int64_t columns) {
    if (x == sums) return;
    const int64_t rows = columns == inner ? 1 : size, width = columns == inner ? size * inner : columns;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t begin = (o * size + r) * inner + first;
#pragma omp simd
      for (int64_t i = begin; i < begin + width; ++i) sums[i] = x[i];
    }
  };
  for_places(outer, size, inner, count, index, copy, [=](int64_t place, int64_t at) { sums[place] += y[at]; });
}
template <class T>
void scatter_mul(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y) {
  for_places(outer, size, inner, count, index, [=](int64_t place, int64_t at) { x[place] *= y[at]; });
}
template <class T>
void scatter_extremum(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y,
                      bool largest) {
  for_places(outer, size, inner, count, index, [=](int64_t place, int64_t at) {
    const T value = y[at];
    const bool better = largest ? value > x[place] : value < x[place];
    x[place] = (better | (value != value)) ? value : x[place];
  });
}

template <class T>
void triangle(int64_t batch, int64_t rows, int64_t cols, int64_t diagonal, bool lower, const T* x, T* y) {
  for_chunks(batch * rows, cols, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = r % rows;
      // The column where the triangle ends (lower) or begins (upper); diagonals may lie far outside the matrix.
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

TAPE_DEFINE_TABLES(IndexKernels, index, .add_at = add_at<T>, .scatter_add = scatter_add<T>,
                   .scatter_mul = scatter_mul<T>, .scatter_extremum = scatter_extremum<T>, .sort = sort_axis<T>,
                   .topk = topk_axis<T>, .median = median_axis<T>, .triangle = triangle<T>)

}  // namespace tape::kernels::TAPE_LEVEL
