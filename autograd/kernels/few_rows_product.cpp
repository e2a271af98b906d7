#include "autograd/kernels/few_rows_product.h"

#include "autograd/kernels/vec.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// C [rows, columns] from as many rows of A and of B.
template <int rows, int columns, class T>
TAPE_INLINE void dot_products(const Gemm& s, const T* a, const T* b, const T* bias, T* c) {
  Vec<T> sums[rows][columns] = {};
  const auto add = [&](int64_t i, int64_t left) __attribute__((always_inline)) {
    Vec<T> x[rows];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) x[r] = load_first_or_all(a + r * s.lda + i, left, T(0));
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      const Vec<T> w = load_first_or_all(b + j * s.ldb + i, left, T(0));
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) sums[r][j] += x[r] * w;
    }
  };
  int64_t i = 0;
  for (; i + kLanes<T> <= s.k; i += kLanes<T>) add(i, kLanes<T>);
  if (i < s.k) add(i, s.k - i);
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < columns; ++j) {
      T& to = c[r * s.ldc + j];
      const T sum = static_cast<T>(fold(sums[r][j], Add())) + (bias ? bias[j] : T(0));
      to = s.accumulate ? to + sum : sum;
    }
}

template <int rows, class T>
void all_columns(const Gemm& s, const T* a, const T* b, const T* bias, T* c) {
  int64_t j = 0;
  for (; j + 4 <= s.n; j += 4) dot_products<rows, 4>(s, a, b + j * s.ldb, bias ? bias + j : nullptr, c + j);
  for (; j < s.n; ++j) dot_products<rows, 1>(s, a, b + j * s.ldb, bias ? bias + j : nullptr, c + j);
}

template <class T>
void product(const Gemm& s, const T* a, const T* b, const T* bias, T* c) {
  if (s.m == 1) return all_columns<1>(s, a, b, bias, c);
  if (s.m == 2) return all_columns<2>(s, a, b, bias, c);
  if (s.m == 3) return all_columns<3>(s, a, b, bias, c);
  all_columns<4>(s, a, b, bias, c);
}
}  // namespace

extern const FewRowsKernels<float> few_rows_f32 = {product<float>};
extern const FewRowsKernels<double> few_rows_f64 = {product<double>};

}  // namespace tape::kernels::TAPE_LEVEL
