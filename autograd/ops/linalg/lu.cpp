#include "autograd/ops/linalg/lu.h"

#include "autograd/create.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/shape/shape.h"

namespace tape::linalg {
namespace {

double cube(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

}  // namespace

Lu lu_of(const Tensor& a) {
  const Matrices all = matrices("lu", "a", a);
  const int64_t n = all.rows;
  Lu lu{detached_copy(a), empty(all.of(n), {i32, a.device()}), {}};
  if (n == 0) return lu;
  lu.failure = on_host("lu", a, [&]<class T>(const KernelCall& at, T) {
    auto* factors = at.out<T>(lu.factors);
    int* pivots = at.out<int>(lu.pivots);
    return for_each_matrix(all.count, cube(n),
                           [&](int64_t i) { return getrf(n, factors + i * n * n, pivots + i * n); });
  });
  return lu;
}

Tensor lu_solve(const Lu& lu, const Tensor& b, bool transpose_a) {
  const NoGrad no_grad;
  const Matrices own = matrices("lu", "a", lu.factors), sides = matrices("lu", "b", b);
  const int64_t n = own.rows, k = sides.columns;
  const Shape whole = broadcast_shapes("solve", own.batch, sides.batch);
  Tensor x = detached_transpose(expand_to(b.detach(), Matrices{.batch = whole}.of(n, k)));
  if (x.numel() == 0) return transpose(x);
  const std::vector<int64_t> from = broadcast_matrices(own.batch, whole);
  on_host("lu", b, [&]<class T>(const KernelCall& at, T) {
    const T* factors = at.in<T>(lu.factors);
    const int* pivots = at.in<int>(lu.pivots);
    T* values = at.out<T>(x);
    for_each_matrix(whole.numel(), 2 * static_cast<double>(n * n) * static_cast<double>(k), [&](int64_t i) {
      const int64_t matrix = from[static_cast<size_t>(i)];
      return getrs(!transpose_a, n, k, factors + matrix * n * n, pivots + matrix * n, values + i * n * k);
    });
  });
  return transpose(x);
}

Tensor lu_inverse(const Lu& lu) {
  const Matrices all = matrices("lu", "a", lu.factors);
  const int64_t n = all.rows;
  Tensor y = detached_copy(lu.factors);
  if (n == 0) return y;
  on_host("lu", y, [&]<class T>(const KernelCall& at, T) {
    auto* values = at.out<T>(y);
    const int* pivots = at.in<int>(lu.pivots);
    for_each_matrix(all.count, cube(n), [&](int64_t i) { return getri(n, values + i * n * n, pivots + i * n); });
  });
  return y;
}

void check_regular(const char* operation, const Lu& lu) {
  if (lu.failure.matrix >= 0)
    raise(ErrorKind::numeric, "{}: {} is singular: pivot {} is 0", operation,
          matrix_name("a", lu.factors.shape(), lu.failure.matrix), lu.failure.info);
}

}  // namespace tape::linalg
