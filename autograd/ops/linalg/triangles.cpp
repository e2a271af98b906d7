#include "autograd/ops/linalg/triangles.h"

#include <algorithm>
#include <optional>

#include "autograd/kernels/product/common/gemm.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/kernels/shape/common/copy.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/working.h"

namespace tape::linalg {
namespace {

using kernels::Triangle;

/// Columns of right sides that one task solves for, and rows that one product updates.
constexpr int64_t kPanel = 128;

int64_t first_half(int64_t n) { return (n / 2 + kSmallTriangle - 1) / kSmallTriangle * kSmallTriangle; }

/// -x [rows, columns], rows `stride` apart, without gaps: products are added, and these are to be taken away.
template <class T>
void negate(int64_t rows, int64_t columns, const T* x, int64_t stride, T* y) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) y[r * columns + c] = -x[r * stride + c];
}

template <class T>
Triangle<T> diagonal_block(const Triangle<T>& a, int64_t begin, int64_t n) {
  Triangle<T> part = a;
  part.values += begin * (a.row_step + a.column_step);
  part.n = n;
  return part;
}

/// `negative` is -a. Of a = [A 0; B D] x = [x1; x2] is A⁻¹ b1 and D⁻¹ (b2 - B x1); of an upper one from the end.
template <class T>
void solve_halves(const Triangle<T>& a, const Triangle<T>& negative, int64_t columns, T* b, int64_t stride) {
  if (a.n <= kSmallTriangle) return kernels::triangles<T>().solve(a, columns, b, stride);
  const int64_t half = first_half(a.n), first = a.upper ? half : 0, second = a.upper ? 0 : half;
  const int64_t solved = a.upper ? a.n - half : half, rest = a.n - solved;
  solve_halves(diagonal_block(a, first, solved), diagonal_block(negative, first, solved), columns, b + first * stride,
               stride);
  const bool transposed = negative.column_step != 1;
  kernels::gemm({.transpose_a = transposed,
                 .m = rest,
                 .n = columns,
                 .k = solved,
                 .lda = transposed ? negative.column_step : negative.row_step,
                 .ldb = stride,
                 .ldc = stride,
                 .accumulate = true},
                negative.values + second * negative.row_step + first * negative.column_step, b + first * stride,
                b + second * stride);
  solve_halves(diagonal_block(a, second, rest), diagonal_block(negative, second, rest), columns, b + second * stride,
               stride);
}

template <class T>
int64_t factor_halves(int64_t n, T* a, int64_t stride) {
  if (n <= kSmallTriangle) return kernels::triangles<T>().cholesky(n, a, stride);
  const int64_t head = first_half(n), tail = n - head;
  if (const int64_t info = factor_halves(head, a, stride); info != 0) return info;
  T *const right = a + head, *const rest = a + head * stride + head;
  solve_triangle({a, head, 1, stride, false, false}, tail, right, stride);
  const Working<T> negative(head * tail);
  negate(head, tail, right, stride, negative.data());
  for (int64_t row = 0; row < tail; row += kPanel)  // of the upper triangle, whole rows of blocks
    kernels::gemm({.transpose_a = true,
                   .m = std::min(kPanel, tail - row),
                   .n = tail - row,
                   .k = head,
                   .lda = tail,
                   .ldb = stride,
                   .ldc = stride,
                   .accumulate = true},
                  negative.data() + row, right + row, rest + row * stride + row);
  const int64_t info = factor_halves(tail, rest, stride);
  return info == 0 ? 0 : head + info;
}

/// Rows i and pivots[i] - 1 of column-major a [.., columns] exchanged for all i < count, in their order.
template <class T>
void exchange_in_columns(int64_t count, const int64_t* pivots, int64_t columns, T* a, int64_t stride) {
  over_parts(columns, static_cast<double>(2 * count), [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; ++j)
      for (int64_t i = 0; i < count; ++i) std::swap(a[j * stride + i], a[j * stride + pivots[i] - 1]);
  });
}

/// Toledo 1997 (Locality of reference in LU decomposition with partial pivoting), of column-major a [m, n], m >= n: the
/// left half [A; B] = P⁻¹ [L; B'] U; of the right one [C; D], exchanged alike, C becomes L⁻¹ C and D - B' C is factored
/// in turn.
template <class T>
int64_t factor_columns(int64_t m, int64_t n, T* a, int64_t stride, int64_t* pivots) {
  constexpr int64_t kFew = 16;
  if (n <= kFew) return kernels::triangles<T>().lu(m, n, a, stride, pivots);
  const int64_t half = std::max(kFew, n / 2 / kFew * kFew), rest = n - half;
  const int64_t info = factor_columns(m, half, a, stride, pivots);
  T* const right = a + half * stride;
  exchange_in_columns(half, pivots, rest, right, stride);
  const Working<T> above(half * rest);  // C, its rows without gaps
  const kernels::Strided rows{.rank = 2, .sizes = {half, rest}, .strides = {1, stride}};
  kernels::copy().from_strided(rows, sizeof(T), right, above.data());
  solve_triangle({a, half, 1, stride, false, true}, rest, above.data(), rest);
  kernels::copy().into_strided(rows, sizeof(T), above.data(), right);
  negate(half, rest, above.data(), rest, above.data());
  kernels::gemm({.transpose_a = true,
                 .m = rest,
                 .n = m - half,
                 .k = half,
                 .lda = rest,
                 .ldb = stride,
                 .ldc = stride,
                 .accumulate = true},
                above.data(), a + half, right + half);
  const int64_t below = factor_columns(m - half, rest, right + half, stride, pivots + half);
  exchange_in_columns(rest, pivots + half, half, a + half, stride);
  for (int64_t i = half; i < n; ++i) pivots[i] += half;
  return info != 0 || below == 0 ? info : half + below;
}

}  // namespace

template <class T>
void solve_triangle(const Triangle<T>& a, int64_t columns, T* b, int64_t stride) {
  if (a.n == 0 || columns == 0) return;
  const bool by_rows = a.column_step == 1;
  std::optional<Working<T>> working;
  Triangle<T> negative = a;
  if (a.n > kSmallTriangle) {
    working.emplace(a.n * a.n);
    negate(a.n, a.n, a.values, by_rows ? a.row_step : a.column_step, working->data());
    negative.values = working->data();
    (by_rows ? negative.row_step : negative.column_step) = a.n;
  }
  const int64_t panels = (columns + kPanel - 1) / kPanel;
  const auto panel = [&](int64_t i) {
    solve_halves(a, negative, std::min(kPanel, columns - i * kPanel), b + i * kPanel, stride);
  };
  constexpr double kWorth = 1 << 17;  // multiplications that are worth waking a thread
  if (static_cast<double>(a.n * a.n) * static_cast<double>(columns) > kWorth) return kernels::run_tasks(panels, panel);
  for (int64_t i = 0; i < panels; ++i) panel(i);
}

template <class T>
int64_t factor_cholesky(int64_t n, T* a) {
  return factor_halves(n, a, n);
}

template <class T>
int64_t factor_lu(int64_t n, T* a, int64_t* pivots) {
  return factor_columns(n, n, a, n, pivots);
}

template void solve_triangle(const Triangle<float>&, int64_t, float*, int64_t);
template void solve_triangle(const Triangle<double>&, int64_t, double*, int64_t);
template int64_t factor_cholesky(int64_t, float*);
template int64_t factor_cholesky(int64_t, double*);
template int64_t factor_lu(int64_t, float*, int64_t*);
template int64_t factor_lu(int64_t, double*, int64_t*);

}  // namespace tape::linalg
