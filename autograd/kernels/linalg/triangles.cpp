#include "autograd/kernels/linalg/triangles.h"

#include "autograd/kernels/product/small_gemm.h"
#include "autograd/kernels/vector/vec_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// kVectors vectors of columns from b on; the last one has `last` lanes.
template <int kVectors, class T>
TAPE_INLINE void solve_columns(const Triangle<T>& a, T* b, int64_t stride, int64_t last) {
  const auto get = [=](const T* p, int v) {
    return v + 1 < kVectors || last == kLanes<T> ? load(p + v * kLanes<T>) : load_first(p + v * kLanes<T>, last);
  };
  const auto put = [=](T* p, int v, Vec<T> value) {
    if (v + 1 < kVectors || last == kLanes<T>)
      store(p + v * kLanes<T>, value);
    else
      store_first(p + v * kLanes<T>, value, last);
  };
  for (int64_t step = 0; step < a.n; ++step) {
    const int64_t i = a.upper ? a.n - 1 - step : step;
    T* const row = b + i * stride;
    Vec<T> sum[kVectors];
    for (int v = 0; v < kVectors; ++v) sum[v] = get(row, v);
    for (int64_t before = 0; before < step; ++before) {
      const int64_t j = a.upper ? a.n - 1 - before : before;
      const T factor = a.values[i * a.row_step + j * a.column_step];
      for (int v = 0; v < kVectors; ++v) sum[v] -= get(b + j * stride, v) * factor;
    }
    const T pivot = a.values[i * (a.row_step + a.column_step)];
    for (int v = 0; v < kVectors; ++v) put(row, v, a.unit ? sum[v] : sum[v] / pivot);
  }
}

template <class T>
void solve(const Triangle<T>& a, int64_t columns, T* b, int64_t stride) {
  constexpr int kWide = 4;
  constexpr int64_t kStep = kLanes<T>;
  int64_t c = 0;
  for (; c + kWide * kStep <= columns; c += kWide * kStep) solve_columns<kWide>(a, b + c, stride, kStep);
  for (; c < columns; c += kStep) solve_columns<1>(a, b + c, stride, smaller(kStep, columns - c));
}

/// Row i of U from those above it: the row of a less what they make of it, over the root of its first value.
template <class T>
int64_t cholesky(int64_t n, T* a, int64_t stride) {
  for (int64_t i = 0; i < n; ++i) {
    T* const row = a + i * stride;
    T pivot = 0;
    for (int64_t c = i; c < n; c += kLanes<T>) {
      const int64_t count = smaller(kLanes<T>, n - c);
      Vec<T> sum = load_first_or_all(row + c, count, T(0));
      for (int64_t k = 0; k < i; ++k) sum -= load_first_or_all(a + k * stride + c, count, T(0)) * a[k * stride + i];
      if (c == i) {
        if (!(sum[0] > 0)) return i + 1;
        pivot = static_cast<T>(__builtin_sqrt(static_cast<double>(sum[0])));
      }
      store_first_or_all(row + c, sum / pivot, count);
    }
    row[i] = pivot;
  }
  return 0;
}

/// body(i, begin, end) for parts [i, i + 4) x [begin, end) that hold all of the upper triangle but what is in the 4 x 4
/// blocks of the diagonal; of a transpose, cache lines are filled before others are begun.
template <class Body>
TAPE_INLINE void above_diagonal_blocks(int64_t n, const Body& body) {
  constexpr int64_t kStrip = 16;
  for (int64_t begin = 4; begin < n; begin += kStrip)
    for (int64_t i = 0; i < smaller(n, begin + kStrip) - 3; i += 4) {
      const int64_t from = larger(begin, i + 4), end = smaller(n, begin + kStrip);
      if (from < end) body(i, from, end);
    }
}

template <class T>
bool symmetric(int64_t n, const T* a) {
  bool same = true;
  for (int64_t block = 0; block < n; block += 4)
    for (int64_t i = block; i < smaller(n, block + 4); ++i)
      for (int64_t j = block; j < i; ++j) same &= a[i * n + j] == a[j * n + i];
  above_diagonal_blocks(n, [&](int64_t i, int64_t begin, int64_t end) {
    T turned[16 * 4];
    transpose_four(0, end - begin, a + i * n + begin, n, 4, turned);
    for (int64_t c = 0; c < end - begin; ++c)
      for (int64_t q = 0; q < 4; ++q) same &= turned[c * 4 + q] == a[(begin + c) * n + i + q];
  });
  return same;
}

template <class T>
void fold_down(int64_t n, T* a) {
  above_diagonal_blocks(n, [&](int64_t i, int64_t begin, int64_t end) {
    transpose_four(0, end - begin, a + i * n + begin, n, n, a + begin * n + i);
  });
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < smaller(n, i / 4 * 4 + 4); ++j) a[j * n + i] = a[i * n + j];
    __builtin_memset(a + i * n + i + 1, 0, static_cast<uint64_t>(n - i - 1) * sizeof(T));
  }
}

/// The row that is exchanged with row k: that of the largest value of the column, of equal ones the first.
template <class T>
TAPE_INLINE int64_t pivot_row(int64_t m, int64_t k, const T* column) {
  Vec<T> sizes = fill<T>(-1);
  for (int64_t i = k; i < m; i += kLanes<T>) {
    const Vec<T> x = load_first_or_all(column + i, smaller(kLanes<T>, m - i), T(0)), size = x < 0 ? -x : x;
    sizes = size > sizes ? size : sizes;
  }
  const T largest = fold(sizes, Larger());
  for (int64_t i = k; i < m; ++i)
    if (column[i] == largest || column[i] == -largest) return i;
  return k;
}

template <class T>
int64_t lu(int64_t m, int64_t n, T* a, int64_t stride, int64_t* pivots) {
  int64_t info = 0;
  for (int64_t k = 0; k < n; ++k) {
    T* const column = a + k * stride;
    const int64_t best = pivot_row(m, k, column);
    pivots[k] = best + 1;
    if (column[best] == 0) {
      if (info == 0) info = k + 1;
      continue;
    }
    for (int64_t j = 0; best != k && j < n; ++j) {
      const T moved = a[j * stride + k];
      a[j * stride + k] = a[j * stride + best];
      a[j * stride + best] = moved;
    }
    const T pivot = column[k];
    for (int64_t i = k + 1; i < m; i += kLanes<T>) {
      const int64_t count = smaller(kLanes<T>, m - i);
      const Vec<T> factors = load_first_or_all(column + i, count, T(0)) / pivot;
      store_first_or_all(column + i, factors, count);
      for (T* other = column + stride; other < a + n * stride; other += stride)
        store_first_or_all(other + i, load_first_or_all(other + i, count, T(0)) - factors * other[k], count);
    }
  }
  return info;
}

template <class T>
constexpr TriangleKernels<T> kTable = {
    .solve = solve<T>, .cholesky = cholesky<T>, .symmetric = symmetric<T>, .fold_down = fold_down<T>, .lu = lu<T>};

}  // namespace

extern const TriangleKernels<float> triangles_f32 = kTable<float>;
extern const TriangleKernels<double> triangles_f64 = kTable<double>;

}  // namespace tape::kernels::TAPE_LEVEL
