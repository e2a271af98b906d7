#include "autograd/kernels/linalg/matrix_lanes.h"

#include "autograd/kernels/vector/vec_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

constexpr int64_t kMost = kMostInLanes;

/// So many of a batch as there are lanes: which ones, the last of them again in lanes that are left.
template <class T>
struct Group {
  int64_t numbers[kLanes<T>];
  int64_t used;
};

template <class T, class Body>
TAPE_INLINE void for_groups(int64_t count, const Body& body) {
  for (int64_t first = 0; first < count; first += kLanes<T>) {
    Group<T> group;
    group.used = smaller(kLanes<T>, count - first);
    for (int64_t lane = 0; lane < kLanes<T>; ++lane) group.numbers[lane] = first + smaller(lane, group.used - 1);
    body(group);
  }
}

/// to[e] holds value e of each matrix of `size` values.
template <class T>
TAPE_INLINE void gather(const int64_t* numbers, int64_t size, const T* from, Vec<T>* to) {
  T* const lanes = reinterpret_cast<T*>(to);
  for (int64_t lane = 0; lane < kLanes<T>; ++lane)
    for (int64_t e = 0; e < size; ++e) lanes[e * kLanes<T> + lane] = from[numbers[lane] * size + e];
}

template <class T>
TAPE_INLINE void scatter(const Group<T>& group, int64_t size, const Vec<T>* from, T* to) {
  const T* const lanes = reinterpret_cast<const T*>(from);
  for (int64_t lane = 0; lane < group.used; ++lane)
    for (int64_t e = 0; e < size; ++e) to[group.numbers[lane] * size + e] = lanes[e * kLanes<T> + lane];
}

template <class T>
TAPE_INLINE void scatter_info(const Group<T>& group, Mask<T> from, int* info) {
  for (int64_t lane = 0; lane < group.used; ++lane) info[group.numbers[lane]] = static_cast<int>(from[lane]);
}

template <class T>
TAPE_INLINE bool any(Mask<T> mask) {
  bool found = false;
  for (int lane = 0; lane < kLanes<T>; ++lane) found |= mask[lane] != 0;
  return found;
}

template <class T>
TAPE_INLINE void swap_where(Mask<T> mask, Vec<T>& x, Vec<T>& y) {
  const Vec<T> moved = x;
  x = mask ? y : x;
  y = mask ? moved : y;
}

/// A number in every lane, of the masks' type.
template <class T>
TAPE_INLINE Mask<T> whole(int64_t value) {
  return Mask<T>{} + static_cast<__typeof__(Mask<T>{}[0] + 0)>(value);
}

/// Row i of U from those above it, as TriangleKernels::cholesky().
template <class T>
void cholesky(int64_t count, int64_t n, T* a, int* info) {
  for_groups<T>(count, [&](const Group<T>& group) {
    Vec<T> u[kMost * kMost], lower[kMost * kMost] = {};
    gather(group.numbers, n * n, a, u);
    Mask<T> failed = {};
    for (int64_t i = 0; i < n; ++i) {
      Vec<T> pivot = {};
      for (int64_t c = i; c < n; ++c) {
        Vec<T> sum = u[i * n + c];
        for (int64_t k = 0; k < i; ++k) sum -= u[k * n + c] * u[k * n + i];
        if (c == i) {
          failed = (failed == 0) & ~(sum > 0) ? whole<T>(i + 1) : failed;
          pivot = square_root(sum);
        }
        lower[c * n + i] = u[i * n + c] = c == i ? pivot : sum / pivot;
      }
    }
    scatter(group, n * n, lower, a);
    scatter_info(group, failed, info);
  });
}

/// As TriangleKernels::lu(): a lane whose column has no pivot is left as it is.
template <class T>
void lu(int64_t count, int64_t n, T* a, int64_t* pivots, int* info) {
  for_groups<T>(count, [&](const Group<T>& group) {
    Vec<T> x[kMost * kMost];
    gather(group.numbers, n * n, a, x);
    Mask<T> failed = {};
    for (int64_t k = 0; k < n; ++k) {
      Vec<T>* const column = x + k * n;
      Mask<T> best = whole<T>(k);
      Vec<T> largest = fill<T>(-1);
      for (int64_t i = k; i < n; ++i) {
        const Vec<T> size = absolute(column[i]);
        const Mask<T> more = size > largest;
        best = more ? whole<T>(i) : best;
        largest = more ? size : largest;
      }
      for (int64_t lane = 0; lane < group.used; ++lane) pivots[group.numbers[lane] * n + k] = best[lane] + 1;
      const Mask<T> zero = largest == 0;
      failed = (failed == 0) & zero ? whole<T>(k + 1) : failed;
      for (int64_t i = k + 1; i < n; ++i) {
        const Mask<T> exchanged = (best == whole<T>(i)) & ~zero;
        for (int64_t j = 0; j < n; ++j) swap_where<T>(exchanged, x[j * n + k], x[j * n + i]);
      }
      const Vec<T> pivot = column[k];
      for (int64_t i = k + 1; i < n; ++i) {
        const Vec<T> factor = column[i] / pivot;
        column[i] = zero ? column[i] : factor;
        for (int64_t j = k + 1; j < n; ++j) {
          const Vec<T> rest = x[j * n + i] - factor * x[j * n + k];
          x[j * n + i] = zero ? x[j * n + i] : rest;
        }
      }
    }
    scatter(group, n * n, x, a);
    scatter_info(group, failed, info);
  });
}

/// Rows i and pivots[i] - 1 of x [n, columns] exchanged, in the order of the factorization or back.
template <class T>
TAPE_INLINE void exchange_rows(const Group<T>& group, const int64_t* pivots, const int64_t* from, int64_t n,
                               int64_t columns, bool back, Vec<T>* x) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = back ? n - 1 - step : step;
    Mask<T> other = {};
    for (int64_t lane = 0; lane < kLanes<T>; ++lane)
      other[lane] = static_cast<__typeof__(other[0] + 0)>(pivots[from[group.numbers[lane]] * n + i] - 1);
    for (int64_t row = i + 1; row < n; ++row)
      for (int64_t c = 0; c < columns; ++c)
        swap_where<T>(other == whole<T>(row), x[i * columns + c], x[row * columns + c]);
  }
}

/// As TriangleKernels::solve(); element (i, j) of the triangle at a[i * row_step + j * column_step].
template <class T>
TAPE_INLINE void solve(const Vec<T>* a, int64_t n, int64_t row_step, int64_t column_step, bool upper, bool unit,
                       int64_t columns, Vec<T>* x) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    for (int64_t c = 0; c < columns; ++c) {
      Vec<T> sum = x[i * columns + c];
      for (int64_t before = 0; before < step; ++before) {
        const int64_t j = upper ? n - 1 - before : before;
        sum -= x[j * columns + c] * a[i * row_step + j * column_step];
      }
      x[i * columns + c] = unit ? sum : sum / a[i * (row_step + column_step)];
    }
  }
}

/// P a = L U, column-major: a = Pᵀ L U, and aᵀ = Uᵀ Lᵀ P.
template <class T>
void lu_solve(int64_t count, int64_t n, int64_t columns, const T* factors, const int64_t* pivots, const int64_t* from,
              bool transposed, T* b) {
  for_groups<T>(count, [&](const Group<T>& group) {
    Vec<T> a[kMost * kMost], x[kMost * kMost];
    int64_t own[kLanes<T>];
    for (int64_t lane = 0; lane < kLanes<T>; ++lane) own[lane] = from[group.numbers[lane]];
    gather(own, n * n, factors, a);
    gather(group.numbers, n * columns, b, x);
    if (transposed) {
      exchange_rows(group, pivots, from, n, columns, false, x);
      solve<T>(a, n, 1, n, false, true, columns, x);
      solve<T>(a, n, 1, n, true, false, columns, x);
    } else {
      solve<T>(a, n, n, 1, false, false, columns, x);
      solve<T>(a, n, n, 1, true, true, columns, x);
      exchange_rows(group, pivots, from, n, columns, true, x);
    }
    scatter(group, n * columns, x, b);
  });
}

TAPE_INLINE F32 power_below(F32 x) { return (F32)((I32)x & 0x7f800000); }
TAPE_INLINE F64 power_below(F64 x) { return (F64)((I64)x & 0x7ff0000000000000); }

template <class T>
TAPE_INLINE Vec<T> dot(int64_t n, const Vec<T>* x, const Vec<T>* y) {
  Vec<T> sum = {};
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

/// Turns two columns so that they are orthogonal, where they are not up to rounding, and says where they were not. What
/// is nothing beside the largest value, which is 1 at least, is left: `slope` would have a square that is no number.
template <class T>
TAPE_INLINE Mask<T> orthogonalize(int64_t rows, Vec<T>* x, Vec<T>* y) {
  constexpr T kEps = sizeof(T) == sizeof(float) ? T(0x1p-23) : T(0x1p-52);
  const Vec<T> xx = dot<T>(rows, x, x), yy = dot<T>(rows, y, y), xy = dot<T>(rows, x, y);
  const Vec<T> bound = square_root(xx) * square_root(yy) * (kEps * static_cast<T>(rows));
  const Mask<T> apart = (absolute(xy) > bound) & (absolute(xy) > kEps * kEps * T(0x1p-14));
  if (!any<T>(apart)) return apart;
  const Vec<T> slope = (yy - xx) / (xy + xy), size = absolute(slope);
  const Vec<T> tangent = (slope < 0 ? fill<T>(-1) : fill<T>(1)) / (size + square_root(size * size + 1));
  const Vec<T> cosine = 1 / square_root(tangent * tangent + 1), sine = cosine * tangent;
  for (int64_t i = 0; i < rows; ++i) {
    const Vec<T> turned = cosine * x[i] - sine * y[i];
    y[i] = apart ? sine * x[i] + cosine * y[i] : y[i];
    x[i] = apart ? turned : x[i];
  }
  return apart;
}

/// Jacobi's method on one side (Hestenes 1958): columns are turned in pairs until all are orthogonal; their lengths are
/// the singular values. Of a over a power of two, so
/// that squares do not overflow.
template <class T>
void singular_values(int64_t count, int64_t rows, int64_t columns, const T* a, T* values, int* info) {
  constexpr int kSweeps = 30;  // six or so are needed
  constexpr T kLeast = sizeof(T) == sizeof(float) ? T(0x1p-126) : T(0x1p-1022);
  for_groups<T>(count, [&](const Group<T>& group) {
    Vec<T> x[kMost * kMost], sizes[kMost];
    gather(group.numbers, rows * columns, a, x);
    Vec<T> largest = fill(kLeast);
    for (int64_t e = 0; e < rows * columns; ++e) largest = absolute(x[e]) > largest ? absolute(x[e]) : largest;
    const Vec<T> scale = power_below(largest);
    for (int64_t e = 0; e < rows * columns; ++e) x[e] /= scale;
    Mask<T> moved = columns > 1 ? ~Mask<T>{} : Mask<T>{};
    for (int sweep = 0; sweep < kSweeps && any<T>(moved); ++sweep) {
      moved = Mask<T>{};
      for (int64_t i = 0; i < columns; ++i)
        for (int64_t j = i + 1; j < columns; ++j) moved |= orthogonalize<T>(rows, x + i * rows, x + j * rows);
    }
    for (int64_t i = 0; i < columns; ++i) {
      sizes[i] = square_root(dot<T>(rows, x + i * rows, x + i * rows)) * scale;
      for (int64_t j = i; j > 0; --j) swap_where<T>(sizes[j] > sizes[j - 1], sizes[j], sizes[j - 1]);
    }
    scatter(group, columns, sizes, values);
    scatter_info(group, moved & 1, info);
  });
}

template <class T>
constexpr MatrixLanes<T> kTable = {
    .cholesky = cholesky<T>, .lu = lu<T>, .lu_solve = lu_solve<T>, .singular_values = singular_values<T>};

}  // namespace

extern const MatrixLanes<float> matrix_lanes_f32 = kTable<float>;
extern const MatrixLanes<double> matrix_lanes_f64 = kTable<double>;

}  // namespace tape::kernels::TAPE_LEVEL
