#include "autograd/ops/linalg/lu.h"

#include "autograd/create.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/shape.h"

namespace tape::linalg {
namespace {

double cube(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

std::vector<int> pivots_of(const Lu& lu, int64_t matrix, int64_t n) {
  const int64_t* first = lu.pivots.data<int64_t>() + matrix * n;
  return {first, first + n};
}

}  // namespace

Lu lu_of(const Tensor& a) {
  const Matrices all = matrices("lu", "a", a);
  const int64_t n = all.rows;
  Lu lu{own_copy(a), empty(all.of(n), i64), std::vector<int>(static_cast<size_t>(all.count))};
  if (n == 0) return lu;
  dispatch_floating("lu", a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* factors = lu.factors.mutable_data<T>();
    int64_t* pivots = lu.pivots.mutable_data<int64_t>();
    over_matrices(all.count, cube(n), [&](int64_t i) {
      std::vector<int> rows(static_cast<size_t>(n));
      lu.info[static_cast<size_t>(i)] = getrf(n, factors + i * n * n, rows.data());
      std::copy(rows.begin(), rows.end(), pivots + i * n);
    });
  });
  return lu;
}

Tensor lu_solve(const Lu& lu, const Tensor& b, bool transpose_a) {
  const NoGrad no_grad;
  const Matrices own = matrices("lu", "a", lu.factors), sides = matrices("lu", "b", b);
  const int64_t n = own.rows, k = sides.columns;
  const Shape whole = broadcast_shapes("solve", own.batch, sides.batch);
  const Shape shape = whole.inserted(whole.rank(), n).inserted(whole.rank() + 1, k);
  Tensor columns = own_transposed(expand_to(b.detach(), shape));
  if (shape.numel() == 0) return transpose(columns);
  const std::vector<int64_t> from = broadcast_matrices(own.batch, whole);
  dispatch_floating("lu", b.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* factors = lu.factors.data<T>();
    T* x = columns.mutable_data<T>();
    over_matrices(whole.numel(), static_cast<double>(n * n) * static_cast<double>(k), [&](int64_t i) {
      const int64_t matrix = from[static_cast<size_t>(i)];
      const std::vector<int> rows = pivots_of(lu, matrix, n);
      getrs(transpose_a ? 'N' : 'T', n, k, factors + matrix * n * n, rows.data(), x + i * n * k);
    });
  });
  return transpose(columns);
}

Tensor lu_inverse(const Lu& lu) {
  const Matrices all = matrices("lu", "a", lu.factors);
  const int64_t n = all.rows;
  Tensor y = own_copy(lu.factors);
  if (n == 0) return y;
  dispatch_floating("lu", y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = y.mutable_data<T>();
    over_matrices(all.count, cube(n), [&](int64_t i) {
      const std::vector<int> rows = pivots_of(lu, i, n);
      getri(n, values + i * n * n, rows.data());
    });
  });
  return y;
}

void check_regular(const char* operation, const Lu& lu) {
  const int64_t broken = first_failure(lu.info);
  if (broken >= 0)
    raise(ErrorKind::numeric, "{}: {} is singular: pivot {} is 0", operation,
          which_matrix("a", lu.factors.shape(), broken), lu.info[static_cast<size_t>(broken)]);
}

}  // namespace tape::linalg
