#include "autograd/kernels/product/skinny_gemm.h"

#include "autograd/kernels/vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

// Tile size: this many rows of A and of B, each a memory stream, with their sums in registers.
#if defined(__AVX512F__)
constexpr int kRows = 6, kColumns = 4;
#else
constexpr int kRows = 2, kColumns = 4;
#endif

/// C [rows, 4] from the rows of A and four of B. With `fetch`, prefetches the next four into the L2 cache, since the L1
/// supports only few outstanding misses.
template <int rows, class T>
void dot_products(const Gemm& s, const T* a, const T* b, int64_t columns, const T* bias, bool fetch, T* c) {
  Vec<T> sums[rows][kColumns] = {};
  // Columns past the end repeat the last row of B.
  const T* column[kColumns];
  for (int j = 0; j < kColumns; ++j) column[j] = b + smaller(j, columns - 1) * s.ldb;
  const auto add = [&](int64_t i, int64_t left) __attribute__((always_inline)) {
    Vec<T> w[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) w[j] = load_first_or_all(column[j] + i, left, T(0));
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
      const Vec<T> x = load_first_or_all(a + r * s.lda + i, left, T(0));
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) sums[r][j] += x * w[j];
    }
  };
  int64_t i = 0;
  if (fetch) {
    for (; i + kLanes<T> <= s.k; i += kLanes<T>) {
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) __builtin_prefetch(column[j] + kColumns * s.ldb + i, 0, 2);
      add(i, kLanes<T>);
    }
  } else {
    for (; i + kLanes<T> <= s.k; i += kLanes<T>) add(i, kLanes<T>);
  }
  if (i < s.k) add(i, s.k - i);
  for (int r = 0; r < rows; ++r) {
    T values[kColumns];
    fold_four(sums[r], values);
    for (int64_t j = 0; j < columns; ++j) {
      T& to = c[r * s.ldc + j];
      const T value = values[j] + (bias ? bias[j] : T(0));
      to = s.accumulate ? to + value : value;
    }
  }
}

template <class T>
void product(const Gemm& s, const T* a, const T* b, const T* bias, T* c) {
  for (int64_t j = 0; j < s.n; j += kColumns) {
    const int64_t columns = smaller(kColumns, s.n - j);
    const auto rows_at = [&]<int rows>(int64_t row) __attribute__((always_inline)) {
      dot_products<rows>(s, a + row * s.lda, b + j * s.ldb, columns, bias ? bias + j : nullptr,
                         row == 0 && j + 2 * kColumns <= s.n, c + row * s.ldc + j);
    };
    int64_t row = 0;
    for (; row + kRows <= s.m; row += kRows) rows_at.template operator()<kRows>(row);
    if constexpr (kRows > 4) {
      if (row + 4 <= s.m) {
        rows_at.template operator()<4>(row);
        row += 4;
      }
      if (row + 2 <= s.m) {
        rows_at.template operator()<2>(row);
        row += 2;
      }
    }
    if (row < s.m) rows_at.template operator()<1>(row);
  }
}
}  // namespace

TAPE_DEFINE_TABLES(SkinnyGemmKernels, few_rows, product<T>)

}  // namespace tape::kernels::TAPE_LEVEL
