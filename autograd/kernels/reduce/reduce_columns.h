#pragma once

// Sums of columns, and of the middle axis of [outer, size, inner].

#include "reduce_rows.h"

namespace tape::kernels::TAPE_LEVEL {

/// Number of columns processed together, whose sums fit in the L1 cache.
constexpr int64_t kTile = 256;

/// to[0, width) = sum of term(x, column) over `rows` >= 1 rows, `stride` apart. Summed pairwise: halves of at least
/// kRun rows are summed separately.
template <class T, class Term>
void sum_columns(int64_t rows, int64_t stride, int64_t width, const T* x, T* to, const Term& term) {
  constexpr int64_t kRun = 32;
  if (rows <= kRun) {
    for (int64_t i = 0; i < width; ++i) to[i] = term(x[i], i);
    for (int64_t r = 1; r < rows; ++r) {
      const T* row = x + r * stride;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) to[i] += term(row[i], i);
    }
    return;
  }
  const int64_t first = ceil_div(rows / 2, kRun) * kRun;
  T second[kTile];
  sum_columns(first, stride, width, x, to, term);
  sum_columns(rows - first, stride, width, x + first * stride, second, term);
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) to[i] += second[i];
}

template <class T, class Term = Unchanged>
void sum_middle(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, const Term& term = {}) {
  const int64_t tiles = ceil_div(inner, kTile), chunk = larger(32, 2 * kChunk / inner);
  const int64_t chunks = ceil_div(size, chunk);
  const bool parallel = outer * size * inner > 2 * kChunk;
  // y itself if there is one chunk, else [outer, chunks, inner] partial sums, which are summed in the same way.
  Scratch<T> partial(chunks > 1 ? outer * chunks * inner : 1);
  T* to = chunks > 1 ? partial.data() : y;
  for_tasks(outer * chunks * tiles, parallel, [&](int64_t task) {
    const int64_t o = task / (chunks * tiles), c = task / tiles % chunks, column = task % tiles * kTile;
    sum_columns(smaller(chunk, size - c * chunk), inner, smaller(kTile, inner - column),
                x + (o * size + c * chunk) * inner + column, to + (o * chunks + c) * inner + column,
                [&](T value, int64_t) { return term(value); });
  });
  if (chunks > 1) sum_middle(outer, chunks, inner, to, y);
}

/// The sum of term(x); a term accepts vectors and single values.
template <class T, class Term>
TAPE_INLINE void sum_terms(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, const Term& term) {
  if (size == 0) {
    for (int64_t i = 0; i < outer * inner; ++i) y[i] = 0;
  } else if (inner == 1) {
    sum_rows(outer, size, x, y, term);
  } else if (outer && inner) {
    sum_middle(outer, size, inner, x, y, term);
  }
}

}  // namespace tape::kernels::TAPE_LEVEL
