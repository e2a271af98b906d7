#include "autograd/ops/linalg/lu.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/kernels/linalg/matrix_lanes.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/linalg/triangles.h"
#include "autograd/ops/shape/shape.h"

namespace tape::linalg {
namespace {

double cube(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

/// Rows i and pivots[i] - 1 of x [n, k] exchanged, in the order of the factorization or back.
template <class T>
void exchange_rows(const int64_t* pivots, int64_t n, int64_t k, bool back, T* x) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = back ? n - 1 - step : step, other = pivots[i] - 1;
    if (other != i) std::swap_ranges(x + i * k, x + (i + 1) * k, x + other * k);
  }
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
    if (n <= kernels::kMostInLanes)
      return over_parts(all.count, cube(n), [&](int64_t first, int64_t last) {
        kernels::matrix_lanes<T>().lu(last - first, n, factors + first * n * n, pivots + first * n,
                                      lu.info.data() + first);
      });
    over_own_matrices(all.count, cube(n), [&](int64_t i) {
      lu.info[static_cast<size_t>(i)] = static_cast<int>(factor_lu(n, factors + i * n * n, pivots + i * n));
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
  Tensor x = expand_to(b.detach(), shape);
  if (shape.numel() == 0) return x;
  const std::vector<int64_t> from = broadcast_matrices(own.batch, whole);
  dispatch_floating("lu", b.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* factors = lu.factors.data<T>();
    const int64_t* pivots = lu.pivots.data<int64_t>();
    T* values = x.mutable_data<T>();
    const double work = 2 * static_cast<double>(n * n) * static_cast<double>(k);
    if (std::max(n, k) <= kernels::kMostInLanes)
      return over_parts(whole.numel(), work, [&](int64_t first, int64_t last) {
        kernels::matrix_lanes<T>().lu_solve(last - first, n, k, factors, pivots, from.data() + first, transpose_a,
                                            values + first * n * k);
      });
    over_own_matrices(whole.numel(), work, [&](int64_t i) {
      const int64_t matrix = from[static_cast<size_t>(i)];
      const T* const lower = factors + matrix * n * n;
      T* const sides_of = values + i * n * k;
      // P aᵀ = L U, column-major: aᵀ = Pᵀ L U, and a = Uᵀ Lᵀ P.
      if (transpose_a) {
        exchange_rows(pivots + matrix * n, n, k, false, sides_of);
        solve_triangle({lower, n, 1, n, false, true}, k, sides_of, k);
        solve_triangle({lower, n, 1, n, true, false}, k, sides_of, k);
      } else {
        solve_triangle({lower, n, n, 1, false, false}, k, sides_of, k);
        solve_triangle({lower, n, n, 1, true, true}, k, sides_of, k);
        exchange_rows(pivots + matrix * n, n, k, true, sides_of);
      }
    });
  });
  return x;
}

Tensor lu_inverse(const Lu& lu) {
  const Matrices all = matrices("lu", "a", lu.factors);
  const int64_t n = all.rows;
  if (n <= kSmallTriangle) return lu_solve(lu, eye(n, lu.factors.dtype()), false);
  Tensor y = own_copy(lu.factors);
  dispatch_floating("lu", y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = y.mutable_data<T>();
    over_matrices(all.count, cube(n), [&](int64_t i) {
      const int64_t* const pivots = lu.pivots.data<int64_t>() + i * n;
      const std::vector<int> rows(pivots, pivots + n);
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
