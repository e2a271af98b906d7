#include "autograd/ops/linalg/tridiagonal.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "autograd/kernels/product/common/blas.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/linalg/working.h"

// Cuppen 1981 (A divide and conquer method for the symmetric tridiagonal eigenproblem); Gu and Eisenstat 1995 (A
// divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem). With ρ what is beside the diagonal where B
// is cut, B = [B1 0; 0 B2] + |ρ| u uᵀ, u 1 before the cut and the sign of ρ behind it. With Bᵢ = Vᵢ Dᵢ Vᵢᵀ that is V (D
// + |ρ| z zᵀ) Vᵀ, z = Vᵀ u. The eigenvalues of D + |ρ| z zᵀ are the roots of 1 + |ρ| Σ zᵢ² / (dᵢ - λ); an eigenvector
// of λ is zᵢ / (dᵢ - λ), and orthogonal to the others up to rounding where for z that ẑ is taken whose roots are
// exactly those that were found.
namespace tape::linalg {
namespace {

/// Up to so many rows LAPACK's.
constexpr int64_t kUndivided = 64;
/// Roots, or elements of ẑ, that one task finds.
constexpr int64_t kRoots = 16;

/// In which part an eigenvector of the halves is not 0.
enum class Half { first, both, second };

/// D + rho z zᵀ of two neighbouring parts whose spectra are known, in ascending order of D.
template <class T>
struct Merge {
  int64_t n, cut;  // rows together, and of the first part
  T* values;       // [n]
  T* vectors;      // rows, `stride` apart, [n, n]
  int64_t stride;
  T rho;

  std::vector<int64_t> order;  // rows of `vectors` by their values
  std::vector<T> z;            // of each row
  std::vector<Half> half;
  std::vector<int64_t> kept, settled;  // rows whose eigenvalues move, and those that stay as they are

  T* row(int64_t i) const { return vectors + i * stride; }
  T& z_of(int64_t i) { return z[static_cast<size_t>(i)]; }
  Half& half_of(int64_t i) { return half[static_cast<size_t>(i)]; }
};

template <class T>
void begin(Merge<T>& m, T beside) {
  const auto count = static_cast<size_t>(m.n);
  m.order.resize(count);
  std::iota(m.order.begin(), m.order.end(), int64_t{0});
  std::stable_sort(m.order.begin(), m.order.end(), [&](int64_t i, int64_t j) { return m.values[i] < m.values[j]; });
  m.z.resize(count);
  m.half.resize(count);
  const T unit = std::sqrt(T(0.5));  // z has length 1
  for (int64_t i = 0; i < m.n; ++i) {
    const bool first = i < m.cut;
    m.half_of(i) = first ? Half::first : Half::second;
    m.z_of(i) = first ? unit * m.row(i)[m.cut - 1] : std::copysign(unit, beside) * m.row(i)[m.cut];
  }
  m.rho = 2 * std::abs(beside);
}

/// Rows i and j become such combinations of each other that z is 0 at i.
template <class T>
void rotate(Merge<T>& m, int64_t i, int64_t j, T c, T s) {
  T *const x = m.row(i), *const y = m.row(j);
  for (int64_t e = 0; e < m.n; ++e) {
    const T turned = c * x[e] + s * y[e];
    y[e] = c * y[e] - s * x[e];
    x[e] = turned;
  }
  if (m.half_of(i) != m.half_of(j)) m.half_of(i) = m.half_of(j) = Half::both;
  const T low = m.values[i], high = m.values[j];
  m.values[i] = low * c * c + high * s * s;
  m.values[j] = low * s * s + high * c * c;
}

/// Which rows stay: those at which z is as good as 0, and of two with as good as equal values one, after a rotation.
template <class T>
void settle(Merge<T>& m) {
  T largest = 0;
  for (int64_t i = 0; i < m.n; ++i) largest = std::max({largest, std::abs(m.values[i]), std::abs(m.z_of(i))});
  const T bound = 4 * std::numeric_limits<T>::epsilon() * largest;
  for (const int64_t j : m.order) {
    if (m.rho * std::abs(m.z_of(j)) <= bound) {
      m.settled.push_back(j);
      continue;
    }
    if (!m.kept.empty()) {
      const int64_t i = m.kept.back();
      const T length = std::hypot(m.z_of(i), m.z_of(j)), c = m.z_of(j) / length, s = -m.z_of(i) / length;
      if (std::abs((m.values[j] - m.values[i]) * c * s) <= bound) {
        rotate(m, i, j, c, s);
        m.z_of(j) = length;
        m.settled.push_back(i);
        m.kept.back() = j;
        continue;
      }
    }
    m.kept.push_back(j);
  }
}

/// body(begin, end) for parts of [0, n) by several threads.
template <class Body>
void in_parts(int64_t n, const Body& body) {
  kernels::run_tasks((n + kRoots - 1) / kRoots,
                     [&](int64_t part) { body(part * kRoots, std::min(n, (part + 1) * kRoots)); });
}

/// Roots of the kept rows, and their eigenvectors as rows of `inner` [k, k], for D and z in ascending order.
template <class T>
int find_roots(T rho, const std::vector<T>& d, const std::vector<T>& z, T* roots, T* inner) {
  const auto k = static_cast<int64_t>(d.size());
  std::atomic<int> failed = 0;
  in_parts(k, [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; ++j)
      if (const int info = laed4(k, j, d.data(), z.data(), inner + j * k, rho, roots[j]); info != 0) failed = info;
  });
  if (k <= 2) return failed;  // those are eigenvectors already
  std::vector<T> exact(d.size());
  in_parts(k, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) exact[static_cast<size_t>(i)] = inner[i * k + i];
    for (int64_t j = 0; j < k; ++j)
      for (int64_t i = first; i < last; ++i)
        if (i != j)
          exact[static_cast<size_t>(i)] *= inner[j * k + i] / (d[static_cast<size_t>(i)] - d[static_cast<size_t>(j)]);
    for (int64_t i = first; i < last; ++i) {
      const auto at = static_cast<size_t>(i);
      exact[at] = std::copysign(std::sqrt(-exact[at]), z[at]);
    }
  });
  in_parts(k, [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; ++j) {
      T* const own = inner + j * k;
      T sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        own[i] = exact[static_cast<size_t>(i)] / own[i];
        sum += own[i] * own[i];
      }
      const T length = std::sqrt(sum);
      for (int64_t i = 0; i < k; ++i) own[i] /= length;
    }
  });
  return failed;
}

/// Parts [begin, end) of rows of `vectors` that are numbered, one below the other.
template <class T>
void gather_rows(const Merge<T>& m, const std::vector<int64_t>& rows, int64_t begin, int64_t end, T* to) {
  for (const int64_t row : rows) to = std::copy(m.row(row) + begin, m.row(row) + end, to);
}

/// Rows of `vectors` by the place of their part that is not 0: first, both, second.
template <class T>
struct Grouped {
  std::vector<int64_t> places;  // in Merge::kept
  int64_t before_both = 0, to_both = 0;
};
template <class T>
Grouped<T> grouped(Merge<T>& m) {
  Grouped<T> all;
  all.places.resize(m.kept.size());
  std::iota(all.places.begin(), all.places.end(), int64_t{0});
  const auto half_at = [&](int64_t place) { return m.half_of(m.kept[static_cast<size_t>(place)]); };
  std::stable_sort(all.places.begin(), all.places.end(), [&](int64_t x, int64_t y) { return half_at(x) < half_at(y); });
  for (const int64_t place : all.places) {
    if (half_at(place) == Half::first) ++all.before_both;
    if (half_at(place) != Half::second) ++all.to_both;
  }
  return all;
}

/// The kept rows times the eigenvectors of D + rho z zᵀ into `to` [k, n]; rows that are 0 before or behind the cut are
/// left out of the product there.
template <class T>
void turn_kept(Merge<T>& m, const T* inner, T* to) {
  const auto k = static_cast<int64_t>(m.kept.size());
  const Grouped<T> groups = grouped(m);
  const int64_t above = groups.to_both, below = k - groups.before_both, rest = m.n - m.cut;
  std::vector<int64_t> rows(m.kept.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = m.kept[static_cast<size_t>(groups.places[i])];
  const Working<T> arranged(k * k), top(above * m.cut), bottom(below * rest);
  in_parts(k, [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; ++j)
      for (int64_t i = 0; i < k; ++i) arranged.data()[j * k + i] = inner[j * k + groups.places[static_cast<size_t>(i)]];
  });
  gather_rows(m, {rows.begin(), rows.begin() + above}, 0, m.cut, top.data());
  gather_rows(m, {rows.begin() + groups.before_both, rows.end()}, m.cut, m.n, bottom.data());
  kernels::gemm({.m = k, .n = m.cut, .k = above, .lda = k, .ldb = m.cut, .ldc = m.n}, arranged.data(), top.data(), to);
  kernels::gemm({.m = k, .n = rest, .k = below, .lda = k, .ldb = rest, .ldc = m.n},
                arranged.data() + groups.before_both, bottom.data(), to + m.cut);
}

/// Puts two parts together whose spectra stand in m.values and m.vectors.
template <class T>
int merge(Merge<T> m, T beside) {
  begin(m, beside);
  settle(m);
  const auto k = static_cast<int64_t>(m.kept.size());
  const Working<T> inner(std::max<int64_t>(1, k * k)), all(m.n * m.n);
  std::vector<T> d, z, found(static_cast<size_t>(m.n));
  for (const int64_t i : m.kept) {
    d.push_back(m.values[i]);
    z.push_back(m.z_of(i));
  }
  const int info = k > 0 ? find_roots(m.rho, d, z, found.data(), inner.data()) : 0;
  if (k > 0) turn_kept(m, inner.data(), all.data());
  gather_rows(m, m.settled, 0, m.n, all.data() + k * m.n);
  for (size_t i = 0; i < m.settled.size(); ++i) found[static_cast<size_t>(k) + i] = m.values[m.settled[i]];
  std::iota(m.order.begin(), m.order.end(), int64_t{0});
  std::stable_sort(m.order.begin(), m.order.end(),
                   [&](int64_t i, int64_t j) { return found[static_cast<size_t>(i)] < found[static_cast<size_t>(j)]; });
  in_parts(m.n, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t from = m.order[static_cast<size_t>(i)];
      m.values[i] = found[static_cast<size_t>(from)];
      std::copy_n(all.data() + from * m.n, m.n, m.row(i));
    }
  });
  return info;
}

/// The spectrum of B [n, n] whose largest value is near 1, in `parts` of which LAPACK finds those.
template <class T>
int divided_spectrum(int64_t n, int64_t parts, T* diagonal, T* beside, T* v) {
  const auto edge = [=](int64_t part) { return n * part / parts; };
  for (int64_t part = 1; part < parts; ++part) {
    const T cut = std::abs(beside[edge(part) - 1]);
    diagonal[edge(part) - 1] -= cut;
    diagonal[edge(part)] -= cut;
  }
  std::atomic<int> failed = 0;
  std::fill_n(v, n * n, T(0));
  kernels::run_tasks(parts, [&](int64_t part) {
    const kernels::OneBlasThread alone;
    const int64_t first = edge(part), rows = edge(part + 1) - first;
    const Working<T> own(rows * rows), off(rows);
    std::copy_n(beside + first, rows - 1, off.data());
    if (const int info = stedc(rows, diagonal + first, off.data(), own.data()); info != 0) failed = info;
    for (int64_t i = 0; i < rows; ++i) std::copy_n(own.data() + i * rows, rows, v + (first + i) * n + first);
  });
  for (int64_t width = 1; width < parts; width *= 2)
    kernels::run_tasks(parts / (2 * width), [&](int64_t pair) {
      const int64_t first = edge(2 * width * pair), cut = edge(2 * width * pair + width),
                    end = edge(2 * width * (pair + 1));
      Merge<T> both{};
      both.n = end - first;
      both.cut = cut - first;
      both.values = diagonal + first;
      both.vectors = v + first * n + first;
      both.stride = n;
      if (const int info = merge(std::move(both), beside[cut - 1]); info != 0) failed = info;
    });
  return failed;
}

}  // namespace

template <class T>
int tridiagonal_spectrum(int64_t n, T* diagonal, T* beside, T* v) {
  int64_t parts = 1;
  while (n > parts * kUndivided) parts *= 2;
  if (parts == 1) {
    const kernels::OneBlasThread alone;
    return stedc(n, diagonal, beside, v);
  }
  T largest = 0;
  for (int64_t i = 0; i < n; ++i)
    largest = std::max({largest, std::abs(diagonal[i]), i + 1 < n ? std::abs(beside[i]) : 0});
  const T unit = largest == 0 ? T(1) : largest;
  std::transform(diagonal, diagonal + n, diagonal, [unit](T value) { return value / unit; });
  std::transform(beside, beside + n - 1, beside, [unit](T value) { return value / unit; });
  const int info = divided_spectrum(n, parts, diagonal, beside, v);
  std::transform(diagonal, diagonal + n, diagonal, [unit](T value) { return value * unit; });
  return info;
}

template int tridiagonal_spectrum(int64_t, float*, float*, float*);
template int tridiagonal_spectrum(int64_t, double*, double*, double*);

}  // namespace tape::linalg
