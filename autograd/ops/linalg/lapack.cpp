#include "autograd/ops/linalg/lapack.h"

#include "autograd/xtensor_guard.h"

#include <algorithm>
#include <array>

#define CXXLAPACK_NO_UNDERSCORE  // the names that autograd/kernels/lapack.cpp defines
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

}  // namespace

template <class T>
int getrf(int64_t n, T* a, int* pivots) {
  return cxxlapack::getrf<int>(size(n), size(n), a, size(n), pivots);
}

template <class T>
int getri(int64_t n, T* lu, const int* pivots) {
  auto whole = matrix(lu, n, n);
  xt::uvector<int> rows(static_cast<size_t>(n));
  std::copy_n(pivots, n, rows.begin());
  return xt::lapack::getri(whole, rows);
}

template <class T>
int geqrf(int64_t m, int64_t n, T* a, T* tau) {
  auto whole = matrix(a, m, n);
  auto scales = vector(tau, std::min(m, n));
  return xt::lapack::geqrf(whole, scales);
}

template <class T>
int orgqr(int64_t m, int64_t columns, int64_t reflectors, T* a, T* tau) {
  auto whole = matrix(a, m, columns);
  auto scales = vector(tau, reflectors);
  return xt::lapack::orgqr(whole, scales);
}

template <class T>
int gesdd(char job, int64_t m, int64_t n, T* a, T* s, T* u, T* vt) {
  auto whole = matrix(a, m, n);
  const auto [info, left, values, right] = xt::lapack::gesdd(whole, job);
  std::copy_n(values.data(), std::min(m, n), s);
  if (job != 'N') {
    std::copy_n(left.data(), left.size(), u);
    std::copy_n(right.data(), right.size(), vt);
  }
  return info;
}

template <class T>
int syevd(char job, char uplo, int64_t n, T* a, T* w) {
  auto whole = matrix(a, n, n);
  auto values = vector(w, n);
  return xt::lapack::syevd(whole, job, uplo, values);
}

template <class T>
int gelsd(int64_t m, int64_t n, int64_t columns, T* a, T* b, T* s, double rcond, int& rank) {
  auto whole = matrix(a, m, n);
  auto sides = matrix(b, std::max(m, n), columns);
  auto values = vector(s, std::min(m, n));
  return xt::lapack::gelsd(whole, sides, values, rank, rcond);
}

#define TAPE_LAPACK_FOR(T)                                    \
  template int getrf(int64_t, T*, int*);                      \
  template int getri(int64_t, T*, const int*);                \
  template int geqrf(int64_t, int64_t, T*, T*);               \
  template int orgqr(int64_t, int64_t, int64_t, T*, T*);      \
  template int gesdd(char, int64_t, int64_t, T*, T*, T*, T*); \
  template int syevd(char, char, int64_t, T*, T*);            \
  template int gelsd(int64_t, int64_t, int64_t, T*, T*, T*, double, int&);

TAPE_LAPACK_FOR(float)
TAPE_LAPACK_FOR(double)

}  // namespace tape::linalg
