#include "autograd/ops/linalg/lapack.h"

#include "autograd/xtensor_guard.h"

#include <algorithm>
#include <array>

#define CXXLAPACK_NO_UNDERSCORE  // the names that autograd/kernels/linalg/common/lapack.cpp defines
#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xadapt.hpp>

namespace tape::linalg {
namespace {

template <class T>
auto matrix(T* values, int64_t rows, int64_t columns) {
  const std::array<size_t, 2> shape{static_cast<size_t>(rows), static_cast<size_t>(columns)};
  return xt::adapt<xt::layout_type::column_major>(values, shape[0] * shape[1], xt::no_ownership(), shape);
}

template <class T>
auto vector(T* values, int64_t count) {
  const std::array<size_t, 1> shape{static_cast<size_t>(count)};
  return xt::adapt<xt::layout_type::column_major>(values, shape[0], xt::no_ownership(), shape);
}

int size(int64_t n) { return static_cast<int>(n); }

/// call(work, count) with as much as the same call asks for where count is -1.
template <class T, class Call>
int with_workspace(const Call& call) {
  T wanted = 0;
  call(&wanted, -1);
  xt::uvector<T> work(static_cast<size_t>(wanted));
  return call(work.data(), static_cast<int>(work.size()));
}

}  // namespace

template <class T>
int getri(int64_t n, T* lu, const int* pivots) {
  auto whole = matrix(lu, n, n);
  xt::uvector<int> rows(static_cast<size_t>(n));
  std::copy_n(pivots, n, rows.begin());
  return xt::lapack::getri(whole, rows);
}

template <class T>
int sytrd(int64_t n, T* a, T* diagonal, T* beside, T* tau) {
  return with_workspace<T>([=](T* work, int count) {
    return cxxlapack::sytrd<int>('L', size(n), a, size(n), diagonal, beside, tau, work, count);
  });
}

template <class T>
int stedc(int64_t n, T* diagonal, T* beside, T* v) {
  // As large as LAPACK's documentation asks for where vectors are found.
  xt::uvector<T> work(static_cast<size_t>(1 + 4 * n + n * n));
  xt::uvector<int> integers(static_cast<size_t>(3 + 5 * n));
  return cxxlapack::stedc<int>('I', size(n), diagonal, beside, v, size(n), work.data(), static_cast<int>(work.size()),
                               integers.data(), static_cast<int>(integers.size()));
}

template <class T>
int laed4(int64_t n, int64_t j, const T* d, const T* z, T* apart, T rho, T& root) {
  return cxxlapack::laed4<int>(size(n), size(j + 1), d, z, apart, rho, root);
}

template <class T>
int sterf(int64_t n, T* diagonal, T* beside) {
  return cxxlapack::sterf<int>(size(n), diagonal, beside);
}

template <class T>
int gebrd(int64_t m, int64_t n, T* a, T* diagonal, T* above, T* tau_q, T* tau_p) {
  return with_workspace<T>([=](T* work, int count) {
    return cxxlapack::gebrd<int>(size(m), size(n), a, size(m), diagonal, above, tau_q, tau_p, work, count);
  });
}

template <class T>
int bdsdc(int64_t n, T* diagonal, T* above, T* u, T* vt) {
  xt::uvector<T> work(static_cast<size_t>((u ? 3 * n * n : 0) + 4 * n));
  xt::uvector<int> integers(static_cast<size_t>(8 * n));
  const int count = size(n);
  const char upper = 'U', job = u ? 'I' : 'N';
  int info = 0;
  // By the routines' own names: cxxlapack asks for one that LAPACK does not have where T is float.
  const auto routine = [] {
    if constexpr (sizeof(T) == sizeof(float))
      return cxxlapack::sbdsdc;
    else
      return cxxlapack::dbdsdc;
  }();
  routine(&upper, &job, &count, diagonal, above, u, &count, vt, &count, nullptr, nullptr, work.data(), integers.data(),
          &info);
  return info;
}

template <class T>
int gelsd(int64_t m, int64_t n, int64_t columns, T* a, T* b, T* s, double rcond, int& rank) {
  auto whole = matrix(a, m, n);
  auto sides = matrix(b, std::max(m, n), columns);
  auto values = vector(s, std::min(m, n));
  return xt::lapack::gelsd(whole, sides, values, rank, rcond);
}

#define TAPE_LAPACK_FOR(T)                                             \
  template int getri(int64_t, T*, const int*);                         \
  template int laed4(int64_t, int64_t, const T*, const T*, T*, T, T&); \
  template int sterf(int64_t, T*, T*);                                 \
  template int sytrd(int64_t, T*, T*, T*, T*);                         \
  template int stedc(int64_t, T*, T*, T*);                             \
  template int gebrd(int64_t, int64_t, T*, T*, T*, T*, T*);            \
  template int bdsdc(int64_t, T*, T*, T*, T*);                         \
  template int gelsd(int64_t, int64_t, int64_t, T*, T*, T*, double, int&);

TAPE_LAPACK_FOR(float)
TAPE_LAPACK_FOR(double)

}  // namespace tape::linalg
