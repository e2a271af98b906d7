#pragma once

// Matrix products of the sizes that attention has per head, too small to justify packing and calling a BLAS. Every
// element of C is summed over k in order, so its bits do not depend on the rows and columns computed with it.

#include "../vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {

#if defined(__AVX512F__)
inline constexpr int kTileVectors = 4;  // 6 rows x 4 vectors of sums in 32 registers
#else
inline constexpr int kTileVectors = 2;  // 6 rows x 2 vectors of sums in 16 registers
#endif
/// Columns of a packed panel.
template <class T>
inline constexpr int64_t kPanel = kTileVectors * kLanes<T>;

/// C [m, n] = A B, or C += A B with `accumulate`. A is [m, k] with any strides; the columns of B and C are contiguous.
template <class T>
struct Product {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  bool accumulate;
};

template <int rows, int vectors, class T>
TAPE_INLINE void product_tile(const Product<T>& p, int64_t row, int64_t column) {
  constexpr int kStep = kLanes<T>;
  Vec<T> sums[rows][vectors] = {};
  const T *a = p.a + row * p.a_row, *b = p.b + column;
  for (int64_t i = 0; i < p.k; ++i, a += p.a_col, b += p.b_row) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const Vec<T> bv = load(b + v * kStep);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) sums[r][v] += bv * a[r * p.a_row];
    }
  }
  T* c = p.c + row * p.c_row + column;
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      T* to = c + r * p.c_row + v * kStep;
      store(to, p.accumulate ? load(to) + sums[r][v] : sums[r][v]);
    }
}

/// The remaining columns, which do not fill a vector.
template <int rows, class T>
TAPE_INLINE void product_edge(const Product<T>& p, int64_t row, int64_t column) {
  const int64_t width = p.n - column;
  Vec<T> sums[rows] = {};
  const T *a = p.a + row * p.a_row, *b = p.b + column;
  for (int64_t i = 0; i < p.k; ++i, a += p.a_col, b += p.b_row) {
    const Vec<T> bv = load_first(b, width);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) sums[r] += bv * a[r * p.a_row];
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    T* to = p.c + (row + r) * p.c_row + column;
    store_first(to, p.accumulate ? load_first(to, width) + sums[r] : sums[r], width);
  }
}

template <int vectors, class T>
void product_columns(const Product<T>& p, int64_t column) {
  const auto rows_at = [&]<int rows>(int64_t row) __attribute__((always_inline)) {
    if constexpr (vectors == 0)
      product_edge<rows>(p, row, column);
    else
      product_tile<rows, vectors>(p, row, column);
  };
  int64_t row = 0;
  for (; row + 6 <= p.m; row += 6) rows_at.template operator()<6>(row);
  if (row + 4 <= p.m) {
    rows_at.template operator()<4>(row);
    row += 4;
  }
  if (row + 2 <= p.m) {
    rows_at.template operator()<2>(row);
    row += 2;
  }
  if (row < p.m) rows_at.template operator()<1>(row);
}

/// Block size along k, before sums are added to C: a tile of this many rows of B fits in the L1 cache.
inline constexpr int64_t kSummedTogether = 128;

template <class T>
void multiply(const Product<T>& whole) {
  constexpr int kStep = kLanes<T>;
  for (int64_t first = 0; first == 0 || first < whole.k; first += kSummedTogether) {
    Product<T> p = whole;
    p.k = smaller(kSummedTogether, whole.k - first);
    p.a += first * p.a_col;
    p.b += first * p.b_row;
    p.accumulate = whole.accumulate || first > 0;
    int64_t column = 0;
    for (; column + kTileVectors * kStep <= p.n; column += kTileVectors * kStep)
      product_columns<kTileVectors>(p, column);
    if constexpr (kTileVectors > 2)
      for (; column + 2 * kStep <= p.n; column += 2 * kStep) product_columns<2>(p, column);
    for (; column + kStep <= p.n; column += kStep) product_columns<1>(p, column);
    if (column < p.n) product_columns<0>(p, column);
  }
}

template <class T>
TAPE_INLINE int64_t padded(int64_t n) {
  return ceil_div(n, kLanes<T>) * kLanes<T>;
}

/// Transposes columns [begin, end) of four rows of x to four adjacent columns of `to`.
template <class T>
TAPE_INLINE void transpose_four(int64_t begin, int64_t end, const T* x, int64_t row_stride, int64_t width, T* to) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  int64_t c = begin;
  for (; c + 4 <= end; c += 4) {
    Four in[4];
    for (int q = 0; q < 4; ++q) __builtin_memcpy(&in[q], x + q * row_stride + c, sizeof(Four));
    const Four a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5),
               b = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
    const Four d = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7),
               e = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
    const Four out[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                         __builtin_shufflevector(d, e, 0, 1, 4, 5), __builtin_shufflevector(d, e, 2, 3, 6, 7)};
    for (int q = 0; q < 4; ++q) __builtin_memcpy(to + (c + q) * width, &out[q], sizeof(Four));
  }
  for (; c < end; ++c)
    for (int q = 0; q < 4; ++q) to[c * width + q] = x[q * row_stride + c];
}

/// Transposes x [valid, cols] to [cols, width], with zeros in the columns past `valid`; width is a multiple of 4. Works
/// in strips of one cache line, so that written lines stay in the L1 cache until they are complete.
template <class T>
void pack_panel(int64_t valid, int64_t width, int64_t cols, const T* x, int64_t row_stride, T* to) {
  constexpr int64_t kStrip = 64 / sizeof(T);
  for (int64_t begin = 0; begin < cols; begin += kStrip) {
    const int64_t end = smaller(begin + kStrip, cols);
    int64_t r = 0;
    for (; r + 4 <= valid; r += 4) transpose_four(begin, end, x + r * row_stride, row_stride, width, to + r);
    for (; r < width; ++r)
      for (int64_t c = begin; c < end; ++c) to[c * width + r] = r < valid ? x[r * row_stride + c] : T(0);
  }
}

/// Transposes x [rows, cols] for multiply_packed: panels of kPanel columns (rows of x), each [cols, width of the
/// panel], padded with zeros to whole vectors. `packed` has padded(rows) * cols values.
template <class T>
void pack_transposed(int64_t rows, int64_t cols, const T* x, int64_t row_stride, T* packed) {
  const int64_t all = padded<T>(rows);
  for (int64_t begin = 0; begin < all; begin += kPanel<T>)
    pack_panel(smaller(kPanel<T>, rows - begin), smaller(kPanel<T>, all - begin), cols, x + begin * row_stride,
               row_stride, packed + begin * cols);
}

/// C [m, n] = A [m, k] times the first n columns (a multiple of the vector length) of a packed transpose.
template <class T>
void multiply_packed(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t packed_columns,
                     const T* packed, T* c, int64_t c_row) {
  for (int64_t begin = 0; begin < n; begin += kPanel<T>) {
    const int64_t width = smaller(kPanel<T>, packed_columns - begin);
    multiply(
        Product<T>{m, smaller(width, n - begin), k, a, a_row, 1, packed + begin * k, width, c + begin, c_row, false});
  }
}

}  // namespace tape::kernels::TAPE_LEVEL
