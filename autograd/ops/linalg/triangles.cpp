#include "autograd/ops/linalg/triangles.h"

#include <algorithm>
#include <optional>

#include "autograd/kernels/gemm.h"
#include "autograd/kernels/threads.h"
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
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < count; ++i) std::swap(a[j * stride + i], a[j * stride + pivots[i] - 1]);
}

/// body(first, last) of parts of the columns, on several threads where their number is worth it.
template <class Body>
void over_columns(int64_t columns, const Body& body) {
  constexpr int64_t kPart = 64;
  const auto part = [&](int64_t i) { body(i * kPart, std::min(columns, (i + 1) * kPart)); };
  kernels::run_tasks((columns + kPart - 1) / kPart, part);
}

/// Row i of `rows` [count, columns] from the i-th values of column-major a, a strip of columns at a time: what a column
/// has in a cache line is then read at once. Or back, with the rows negated behind it.
template <class T>
void to_rows(int64_t count, int64_t first, int64_t last, int64_t columns, const T* a, int64_t stride, T* rows) {
  constexpr int64_t kStrip = 16;
  for (int64_t begin = first; begin < last; begin += kStrip)
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = begin; j < std::min(last, begin + kStrip); ++j) rows[i * columns + j] = a[j * stride + i];
}
template <class T>
void from_rows(int64_t count, int64_t first, int64_t last, int64_t columns, T* rows, T* a, int64_t stride) {
  constexpr int64_t kStrip = 16;
  for (int64_t begin = first; begin < last; begin += kStrip)
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = begin; j < std::min(last, begin + kStrip); ++j) {
        a[j * stride + i] = rows[i * columns + j];
        rows[i * columns + j] = -rows[i * columns + j];
      }
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
  const Working<T> above(half * rest);
  over_columns(rest, [&](int64_t first, int64_t last) {
    exchange_in_columns(half, pivots, last - first, right + first * stride, stride);
    to_rows(half, first, last, rest, right, stride, above.data());
  });
  solve_triangle({a, half, 1, stride, false, true}, rest, above.data(), rest);
  over_columns(rest,
               [&](int64_t first, int64_t last) { from_rows(half, first, last, rest, above.data(), right, stride); });
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
  over_columns(half, [&](int64_t first, int64_t last) {
    exchange_in_columns(rest, pivots + half, last - first, a + first * stride + half, stride);
  });
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
