#include "autograd/ops/linalg/spectra.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/kernels/product/common/blas.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/linalg/reflectors.h"
#include "autograd/ops/linalg/tridiagonal.h"

namespace tape::linalg {
namespace {

/// Brings values whose squares would be too large or too small near 1. Gives what their spectrum is to be multiplied
/// by.
template <class T>
T bring_into_range(int64_t size, T* a) {
  T largest = 0;
  for (int64_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(a[i]));
  const T least = std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
  if (largest == 0 || (largest > least && largest < 1 / least)) return 1;
  const int exponent = std::ilogb(largest);
  for (int64_t i = 0; i < size; ++i) a[i] = std::ldexp(a[i], -exponent);
  return std::ldexp(T(1), exponent);
}

template <class T>
void scale(int64_t n, T factor, T* x) {
  std::transform(x, x + n, x, [factor](T value) { return value * factor; });
}

/// with_vectors() and alone(), which give LAPACK's info, at once; the one or the other where the other is not wanted.
template <class WithVectors, class Alone>
int find_both(int64_t n, bool vectors, bool values, const WithVectors& with_vectors, const Alone& alone) {
  if (!values) return with_vectors();
  if (!vectors) return alone();
  constexpr int64_t kWorth = 32;  // rows that are worth waking a thread
  if (n <= kWorth) return std::max(with_vectors(), alone());
  int info[2];
  kernels::run_tasks(2, [&](int64_t task) { info[task] = task == 0 ? with_vectors() : alone(); });
  return std::max(info[0], info[1]);
}

/// Those of B, as bdsdc() finds them, and the singular values into s.
template <class T>
int spectrum_of_bidiagonal(int64_t n, const T* diagonal, const T* above, T* s, T* left, T* right,
                           SpectrumValues values) {
  const bool by_themselves = values == SpectrumValues::alone || left == nullptr;
  const Working<T> beside(n);
  const auto find = [&](T* u, T* vt, T* found) {
    const kernels::OneBlasThread alone;
    const Working<T> rest(n);
    std::copy_n(diagonal, n, found);
    std::copy_n(above, n - 1, rest.data());
    return bdsdc(n, found, rest.data(), u, vt);
  };
  return find_both(
      n, left != nullptr, by_themselves, [&] { return find(left, right, by_themselves ? beside.data() : s); },
      [&] { return find(nullptr, nullptr, s); });
}

/// As singular_spectrum(): a [m, n] = Q B Pᵀ with B bidiagonal, whose spectrum LAPACK finds.
template <class T>
int bidiagonal_spectrum(int64_t m, int64_t n, int64_t columns, T* a, T* s, T* u, T* v, SpectrumValues values) {
  const bool vectors = u != nullptr;
  const int64_t size = vectors ? n * n : 1;
  const Working<T> diagonal(n), above(n), tau_q(n), tau_p(n), left(size), right(size);
  {
    const kernels::OneBlasThread alone;
    gebrd(m, n, a, diagonal.data(), above.data(), tau_q.data(), tau_p.data());
  }
  const int info = spectrum_of_bidiagonal(n, diagonal.data(), above.data(), s, vectors ? left.data() : nullptr,
                                          vectors ? right.data() : nullptr, values);
  if (!vectors) return info;
  std::fill_n(u, columns * m, T(0));
  for (int64_t i = 0; i < n; ++i) std::copy_n(left.data() + i * n, n, u + i * m);
  for (int64_t i = n; i < columns; ++i) u[i * m + i] = 1;
  apply_reflectors(n, m, a, m, tau_q.data(), columns, u, m);
  // P's reflectors stand in rows of a, and V in rows of what is found: column-major, both are columns here.
  T* const rows = left.data();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      v[i * n + j] = right.data()[j * n + i];
      rows[i * n + j] = a[j * m + i];
    }
  apply_reflectors(n - 1, n - 1, rows + 1, n, tau_p.data(), n, v + 1, n);
  return info;
}

/// Of many more rows than columns: a = Q R, and the spectrum of R.
template <class T>
int tall_spectrum(int64_t m, int64_t n, int64_t columns, T* a, T* s, T* u, T* v, SpectrumValues values) {
  const bool vectors = u != nullptr;
  const int64_t in_q = vectors ? columns : n;
  const Working<T> q(in_q * m), r(n * n), inner(vectors ? n * n : 1);
  qr_in_blocks(m, n, in_q, a, q.data());
  for (int64_t j = 0; j < n; ++j) {
    std::copy_n(a + j * m, j + 1, r.data() + j * n);
    std::fill_n(r.data() + j * n + j + 1, n - j - 1, T(0));
  }
  const int info = bidiagonal_spectrum(n, n, n, r.data(), s, vectors ? inner.data() : nullptr, v, values);
  if (!vectors) return info;
  kernels::gemm({.m = n, .n = m, .k = n, .lda = n, .ldb = m, .ldc = m}, inner.data(), q.data(), u);
  std::copy(q.data() + n * m, q.data() + columns * m, u + n * m);
  return info;
}

}  // namespace

template <class T>
int symmetric_spectrum(int64_t n, T* a, T* w, T* vectors, SpectrumValues values) {
  const T factor = bring_into_range(n * n, a);
  const bool by_themselves = values == SpectrumValues::alone || vectors == nullptr;
  const Working<T> diagonal(n), beside(n), tau(n), rest(n);
  {
    const kernels::OneBlasThread alone;
    sytrd(n, a, diagonal.data(), beside.data(), tau.data());
  }
  std::copy_n(diagonal.data(), n, w);
  std::copy_n(beside.data(), n - 1, rest.data());
  const int info = find_both(
      n, vectors != nullptr, by_themselves,
      [&] { return tridiagonal_spectrum(n, by_themselves ? diagonal.data() : w, beside.data(), vectors); },
      [&] {
        const kernels::OneBlasThread alone;
        return sterf(n, w, rest.data());
      });
  if (vectors) apply_reflectors(n - 1, n - 1, a + 1, n, tau.data(), n, vectors + 1, n);
  scale(n, factor, w);
  return info;
}

template <class T>
int singular_spectrum(int64_t m, int64_t n, int64_t columns, T* a, T* s, T* u, T* v, SpectrumValues values) {
  const T factor = bring_into_range(m * n, a);
  const bool tall = 6 * m >= 11 * n;  // LAPACK's choice
  const int info = (tall ? tall_spectrum<T> : bidiagonal_spectrum<T>)(m, n, columns, a, s, u, v, values);
  scale(n, factor, s);
  return info;
}

#define TAPE_SPECTRA_FOR(T)                                             \
  template int symmetric_spectrum(int64_t, T*, T*, T*, SpectrumValues); \
  template int singular_spectrum(int64_t, int64_t, int64_t, T*, T*, T*, T*, SpectrumValues);

TAPE_SPECTRA_FOR(float)
TAPE_SPECTRA_FOR(double)

}  // namespace tape::linalg
