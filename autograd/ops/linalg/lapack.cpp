#include "autograd/ops/linalg/lapack.h"

#include "autograd/xtensor_guard.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "autograd/memory.h"
#include "base/non_copyable.h"

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
  const auto values = static_cast<int64_t>(std::nextafter(wanted, std::numeric_limits<T>::max()));
  const Ref<Storage> work = Storage::allocate(values * static_cast<int64_t>(sizeof(T)));
  std::vector<int> whole(static_cast<size_t>(std::max<int64_t>(wanted_integers, integers)));
  return call(static_cast<T*>(work->data()), static_cast<int>(values), whole.data(), static_cast<int>(whole.size()));
}

}  // namespace

/// A matrix or vector at a multiple of 64 bytes: a copy, written back in the end, if it is elsewhere. OpenBLAS has
/// kernels, as for CPUs that it does not know, whose bits depend on the address, and the matrices of a batch are at
/// any.
template <class T>
class Aligned : NonCopyable {
 public:
  Aligned(T* values, int64_t n) : values_(values), bytes_(static_cast<size_t>(n) * sizeof(T)) {
    if (reinterpret_cast<uintptr_t>(values) % 64 == 0) return;
    copy_ = Storage::allocate(static_cast<int64_t>(bytes_));
    std::memcpy(copy_->data(), values, bytes_);
  }
  ~Aligned() {
    if constexpr (!std::is_const_v<T>)
      if (copy_) std::memcpy(values_, copy_->data(), bytes_);
  }
  T* get() const { return copy_ ? static_cast<T*>(copy_->data()) : values_; }

 private:
  T* const values_;
  const size_t bytes_;
  Ref<Storage> copy_;
};

template <class T>
int potrf(int64_t n, T* a) {
  const Aligned<T> matrix(a, n * n);
  return cxxlapack::potrf('U', size(n), matrix.get(), size(n));
}

template <class T>
int getrf(int64_t n, T* a, int* pivots) {
  const Aligned<T> matrix(a, n * n);
  return cxxlapack::getrf(size(n), size(n), matrix.get(), size(n), pivots);
}

template <class T>
int getri(int64_t n, T* factors, const int* pivots) {
  const Aligned<T> matrix(factors, n * n);
  return with_workspace<T>([&](T* work, int count, int*, int) {
    return cxxlapack::getri(size(n), matrix.get(), size(n), pivots, work, count);
  });
}

template <class T>
int getrs(bool transposed, int64_t n, int64_t columns, const T* factors, const int* pivots, T* b) {
  const Aligned<const T> matrix(factors, n * n);
  const Aligned<T> right(b, n * columns);
  return cxxlapack::getrs(transpose_if(transposed), size(n), size(columns), matrix.get(), size(n), pivots, right.get(),
                          size(n));
}

template <class T>
int trtrs(bool upper, bool transposed, bool unit, int64_t n, int64_t columns, const T* a, T* b) {
  const Aligned<const T> matrix(a, n * n);
  const Aligned<T> right(b, n * columns);
  return cxxlapack::trtrs(upper ? 'U' : 'L', transpose_if(transposed), unit ? 'U' : 'N', size(n), size(columns),
                          matrix.get(), size(n), right.get(), size(n));
}

template <class T>
int gelqf(int64_t m, int64_t n, T* a, T* tau) {
  const Aligned<T> matrix(a, m * n), factors(tau, std::min(m, n));
  return with_workspace<T>([&](T* work, int count, int*, int) {
    return cxxlapack::gelqf(size(m), size(n), matrix.get(), size(m), factors.get(), work, count);
  });
}

template <class T>
int orglq(int64_t m, int64_t n, int64_t k, T* a, const T* tau) {
  const Aligned<T> matrix(a, m * n);
  const Aligned<const T> factors(tau, k);
  return with_workspace<T>([&](T* work, int count, int*, int) {
    return cxxlapack::orglq(size(m), size(n), size(k), matrix.get(), size(m), factors.get(), work, count);
  });
}

template <class T>
int syevd(bool vectors, int64_t n, T* a, T* w) {
  const Aligned<T> matrix(a, n * n), values(w, n);
  return with_workspace<T>([&](T* work, int count, int* integers, int integer_count) {
    return cxxlapack::syevd(vectors ? 'V' : 'N', 'L', size(n), matrix.get(), size(n), values.get(), work, count,
                            integers, integer_count);
  });
}

template <class T>
int gesdd(char job, int64_t m, int64_t n, T* a, T* s, T* u, T* vt) {
  const int64_t k = std::min(m, n), rows = job == 'S' ? k : n, columns = job == 'S' ? k : m;
  const bool vectors = job != 'N';
  const Aligned<T> matrix(a, m * n), values(s, k), left(u, vectors ? m * columns : 0),
      right(vt, vectors ? rows * n : 0);
  return with_workspace<T>(
      [&](T* work, int count, int* integers, int) {
        return cxxlapack::gesdd(job, size(m), size(n), matrix.get(), size(m), values.get(), left.get(), size(m),
                                right.get(), size(rows), work, count, integers);
      },
      8 * k);
}

template <class T>
int gelsd(int64_t m, int64_t n, int64_t columns, T* a, T* b, T* s, double rcond, int& rank) {
  const Aligned<T> matrix(a, m * n), right(b, std::max(m, n) * columns), values(s, std::min(m, n));
  return with_workspace<T>([&](T* work, int count, int* integers, int) {
    return cxxlapack::gelsd(size(m), size(n), size(columns), matrix.get(), size(m), right.get(), size(std::max(m, n)),
                            values.get(), static_cast<T>(rcond), rank, work, count, integers);
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
