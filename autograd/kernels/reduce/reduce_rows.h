#pragma once

// Reductions of contiguous rows.

#include "../vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {

/// The term of each value in a sum; each maps 0 to 0, because the last vector of a row is padded with zeros.
struct Unchanged {
  TAPE_MEMBER auto operator()(auto v) const { return v; }
};

/// Pairwise sum: the error grows with the logarithm of n. Blocks of 512 are summed in four vectors.
template <class T, class Term = Unchanged>
T sum_pairwise(int64_t n, const T* x, const Term& term = {}) {
  constexpr int64_t kBlock = 512;
  constexpr int kStep = kLanes<T>;
  if (n <= kBlock) {
    Vec<T> a = {}, b = {}, c = {}, d = {};
    int64_t i = 0;
    for (; i + 4 * kStep <= n; i += 4 * kStep) {
      a += term(load(x + i));
      b += term(load(x + i + kStep));
      c += term(load(x + i + 2 * kStep));
      d += term(load(x + i + 3 * kStep));
    }
    for (; i < n; i += kStep) a += term(load_first_or_all(x + i, n - i, T(0)));
    return fold((a + b) + (c + d), Add());
  }
  const int64_t first = ceil_div(n / 2, kBlock) * kBlock;
  const T sum = sum_pairwise(first, x, term);
  return sum + sum_pairwise(n - first, x + first, term);
}

template <class T, class Term = Unchanged>
TAPE_INLINE void sum_rows(int64_t rows, int64_t cols, const T* x, T* y, const Term& term = {}) {
  const int64_t chunks = ceil_div(cols, kChunk);
  if (chunks == 1) {
    for_chunks(rows, cols, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) y[r] = sum_pairwise(cols, x + r * cols, term);
    });
    return;
  }
  Scratch<T> partial(rows * chunks);
  for_tasks(rows * chunks, rows * chunks > 2, [&](int64_t task) {
    const int64_t r = task / chunks, begin = task % chunks * kChunk;
    partial[task] = sum_pairwise(smaller(kChunk, cols - begin), x + r * cols + begin, term);
  });
  for (int64_t r = 0; r < rows; ++r) y[r] = sum_pairwise(chunks, partial.data() + r * chunks);
}

/// The maximum (or minimum) of n >= 1 values; NaN propagates.
template <bool Max, class T>
TAPE_INLINE T best_of_row(int64_t n, const T* x) {
  Vec<T> best = fill(x[0]);
  Mask<T> nan = {};
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const Vec<T> v = load_first_or_all(x + i, n - i, x[0]);
    best = (Max ? v > best : v < best) ? v : best;
    nan |= v != v;
  }
  T result = best[0];
  for (int i = 0; i < kLanes<T>; ++i) {
    if (nan[i]) return static_cast<T>(__builtin_nan(""));
    if (Max ? best[i] > result : best[i] < result) result = best[i];
  }
  return result;
}

/// Index of the first occurrence of the value (of a NaN, if it is NaN).
template <class T>
TAPE_INLINE int64_t first_equal(int64_t n, const T* x, T value) {
  int64_t i = 0;
  if (value != value) {
    while (i < n && x[i] == x[i]) ++i;
  } else {
    while (i < n && x[i] != value) ++i;
  }
  return i;
}

}  // namespace tape::kernels::TAPE_LEVEL
