#include "autograd/ops/linalg/reflectors.h"

#include <algorithm>
#include <deque>

#include "autograd/kernels/linalg/reflectors.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/ops/linalg/triangles.h"

namespace tape::linalg {

template <class T>
ReflectorBlock<T>::ReflectorBlock(int64_t count, int64_t length, const T* x, int64_t stride, const T* tau)
    : count_(count), length_(length), v_(count * length), negative_inverse_(count * count) {
  T *const v = v_.data(), *const inverse = negative_inverse_.data();
  for (int64_t i = 0; i < count; ++i) {
    T* const row = v + i * length;
    std::fill_n(row, i, T(0));
    row[i] = 1;
    std::copy(x + i * stride + i + 1, x + i * stride + length, row + i + 1);
  }
  kernels::gemm({.transpose_b = true, .m = count, .n = count, .k = length, .lda = length, .ldb = length, .ldc = count},
                v, v, inverse);
  std::transform(inverse, inverse + count * count, inverse, [](T value) { return -value; });
  for (int64_t i = 0; i < count; ++i) inverse[i * count + i] = -1 / tau[i];
}

/// x -= (T V xᵀ)ᵀ V. Reversed, the product is the transpose, I - Vᵀ Tᵀ V.
template <class T>
void ReflectorBlock<T>::apply(bool reversed, int64_t rows, T* x, int64_t stride) const {
  if (rows == 0) return;
  const Working<T> parts(count_ * rows);
  kernels::gemm({.transpose_b = true, .m = count_, .n = rows, .k = length_, .lda = length_, .ldb = stride, .ldc = rows},
                v_.data(), x, parts.data());
  solve_triangle({negative_inverse_.data(), count_, reversed ? 1 : count_, reversed ? count_ : 1, !reversed, false},
                 rows, parts.data(), rows);
  kernels::gemm({.transpose_a = true,
                 .m = rows,
                 .n = length_,
                 .k = count_,
                 .lda = rows,
                 .ldb = length_,
                 .ldc = stride,
                 .accumulate = true},
                parts.data(), v_.data(), x);
}

template <class T>
void qr_in_blocks(int64_t m, int64_t n, int64_t columns, T* a, T* q) {
  const int64_t k = std::min(m, n);
  std::deque<ReflectorBlock<T>> blocks;
  for (int64_t i = 0; i < k; i += kReflectorBlock) {
    const int64_t count = std::min(kReflectorBlock, k - i);
    T tau[kReflectorBlock];
    T* const own = a + i * m + i;
    kernels::reflectors<T>().factor(count, m - i, own, m, tau);
    blocks.emplace_back(count, m - i, own, m, tau).apply(true, n - i - count, own + count * m, m);
  }
  std::fill_n(q, m * columns, T(0));
  for (int64_t j = 0; j < columns; ++j) q[j * m + j] = 1;
  // Columns before a block's own are still those of I, which it leaves as they are.
  for (int64_t block = static_cast<int64_t>(blocks.size()) - 1; block >= 0; --block) {
    const int64_t i = block * kReflectorBlock;
    blocks[static_cast<size_t>(block)].apply(false, columns - i, q + i * m + i, m);
  }
}

template <class T>
void apply_reflectors(int64_t count, int64_t n, const T* v, int64_t v_stride, const T* tau, int64_t rows, T* x,
                      int64_t stride) {
  constexpr int64_t kShort = 8;  // for which products cost more than they save
  if (n <= kShort) return kernels::reflectors<T>().apply(count, n, v, v_stride, tau, rows, x, stride);
  const int64_t blocks = (count + kReflectorBlock - 1) / kReflectorBlock;
  for (int64_t block = blocks - 1; block >= 0; --block) {
    const int64_t i = block * kReflectorBlock;
    const ReflectorBlock<T> all(std::min(kReflectorBlock, count - i), n - i, v + i * v_stride + i, v_stride, tau + i);
    all.apply(false, rows, x + i, stride);
  }
}

#define TAPE_REFLECTORS_FOR(T)                                   \
  template class ReflectorBlock<T>;                              \
  template void qr_in_blocks(int64_t, int64_t, int64_t, T*, T*); \
  template void apply_reflectors(int64_t, int64_t, const T*, int64_t, const T*, int64_t, T*, int64_t);

TAPE_REFLECTORS_FOR(float)
TAPE_REFLECTORS_FOR(double)

}  // namespace tape::linalg
