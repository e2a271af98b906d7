#include "autograd/ops/linalg/lapack.h"

#include "autograd/xtensor_guard.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#define CXXLAPACK_NO_UNDERSCORE  // the names that autograd/kernels/linalg/common/lapack.cpp defines
#include <xtensor-blas/xlinalg.hpp>

namespace tape::linalg {
namespace {

int size(int64_t n) { return static_cast<int>(n); }
char transpose_if(bool transposed) { return transposed ? 'T' : 'N'; }

/// Runs call(work, its size, integers, their size) with the workspace that the same call requests for sizes of -1, and
/// at least `integers` integers.
template <class T, class Call>
int with_workspace(const Call& call, int64_t integers = 0) {
  T wanted = 0;
  int wanted_integers = 0;
  call(&wanted, -1, &wanted_integers, -1);
  // A float is not exact beyond 2^24 and may be less than the required size.
  std::vector<T> work(static_cast<size_t>(std::nextafter(wanted, std::numeric_limits<T>::max())));
  std::vector<int> whole(static_cast<size_t>(std::max<int64_t>(wanted_integers, integers)));
  return call(work.data(), static_cast<int>(work.size()), whole.data(), static_cast<int>(whole.size()));
}

}  // namespace

template <class T>
int potrf(int64_t n, T* a) {
  return cxxlapack::potrf('U', size(n), a, size(n));
}

template <class T>
int getrf(int64_t n, T* a, int* pivots) {
  return cxxlapack::getrf(size(n), size(n), a, size(n), pivots);
}

template <class T>
int getri(int64_t n, T* factors, const int* pivots) {
  return with_workspace<T>(
      [=](T* work, int count, int*, int) { return cxxlapack::getri(size(n), factors, size(n), pivots, work, count); });
}

template <class T>
int getrs(bool transposed, int64_t n, int64_t columns, const T* factors, const int* pivots, T* b) {
  return cxxlapack::getrs(transpose_if(transposed), size(n), size(columns), factors, size(n), pivots, b, size(n));
}

template <class T>
int trtrs(bool upper, bool transposed, bool unit, int64_t n, int64_t columns, const T* a, T* b) {
  return cxxlapack::trtrs(upper ? 'U' : 'L', transpose_if(transposed), unit ? 'U' : 'N', size(n), size(columns), a,
                          size(n), b, size(n));
}

template <class T>
int gelqf(int64_t m, int64_t n, T* a, T* tau) {
  return with_workspace<T>(
      [=](T* work, int count, int*, int) { return cxxlapack::gelqf(size(m), size(n), a, size(m), tau, work, count); });
}

template <class T>
int orglq(int64_t m, int64_t n, int64_t k, T* a, const T* tau) {
  return with_workspace<T>([=](T* work, int count, int*, int) {
    return cxxlapack::orglq(size(m), size(n), size(k), a, size(m), tau, work, count);
  });
}

template <class T>
int syevd(bool vectors, int64_t n, T* a, T* w) {
  return with_workspace<T>([=](T* work, int count, int* integers, int integer_count) {
    return cxxlapack::syevd(vectors ? 'V' : 'N', 'L', size(n), a, size(n), w, work, count, integers, integer_count);
  });
}

template <class T>
int gesdd(char job, int64_t m, int64_t n, T* a, T* s, T* u, T* vt) {
  const int64_t k = std::min(m, n), rows = job == 'S' ? k : n;
  return with_workspace<T>(
      [=](T* work, int count, int* integers, int) {
        return cxxlapack::gesdd(job, size(m), size(n), a, size(m), s, u, size(m), vt, size(rows), work, count,
                                integers);
      },
      8 * k);
}

template <class T>
int gelsd(int64_t m, int64_t n, int64_t columns, T* a, T* b, T* s, double rcond, int& rank) {
  return with_workspace<T>([=, &rank](T* work, int count, int* integers, int) {
    return cxxlapack::gelsd(size(m), size(n), size(columns), a, size(m), b, size(std::max(m, n)), s,
                            static_cast<T>(rcond), rank, work, count, integers);
  });
}

#define TAPE_LAPACK_FOR(T)                                              \
  template int potrf(int64_t, T*);                                      \
  template int getrf(int64_t, T*, int*);                                \
  template int getri(int64_t, T*, const int*);                          \
  template int getrs(bool, int64_t, int64_t, const T*, const int*, T*); \
  template int trtrs(bool, bool, bool, int64_t, int64_t, const T*, T*); \
  template int gelqf(int64_t, int64_t, T*, T*);                         \
  template int orglq(int64_t, int64_t, int64_t, T*, const T*);          \
  template int syevd(bool, int64_t, T*, T*);                            \
  template int gesdd(char, int64_t, int64_t, T*, T*, T*, T*);           \
  template int gelsd(int64_t, int64_t, int64_t, T*, T*, T*, double, int&);

TAPE_LAPACK_FOR(float)
TAPE_LAPACK_FOR(double)

}  // namespace tape::linalg
