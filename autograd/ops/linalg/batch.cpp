#include "autograd/ops/linalg/batch.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/totals.h"
#include "autograd/ops/shape/shape.h"

namespace tape::linalg {

Matrices matrices(const char* operation, const char* argument, const Tensor& x) {
  dispatch_floating(operation, x.dtype(), [](auto) {});  // only to check the dtype
  if (x.rank() < 2) raise(ErrorKind::shape, "{}: needs matrices: {} {}", operation, argument, to_string(x.shape()));
  const Matrices all{.batch = x.shape().slice(0, x.rank() - 2),
                     .count = x.shape().slice(0, x.rank() - 2).numel(),
                     .rows = x.size(-2),
                     .columns = x.size(-1)};
  for (const int64_t size : {all.rows, all.columns})
    if (size > std::numeric_limits<int32_t>::max())
      raise(ErrorKind::shape, "{}: size {} exceeds the matrix library's 32-bit limit", operation, size);
  // Memory does not limit the number of empty matrices.
  if (x.numel() == 0 && all.count > kMaxEmptyMatrices)
    raise(ErrorKind::shape, "{}: {} {} has more than {} empty matrices", operation, argument, to_string(x.shape()),
          kMaxEmptyMatrices);
  return all;
}

Matrices square_matrices(const char* operation, const char* argument, const Tensor& x) {
  const Matrices all = matrices(operation, argument, x);
  if (all.rows != all.columns)
    raise(ErrorKind::shape, "{}: needs square matrices: {} {}", operation, argument, to_string(x.shape()));
  return all;
}

std::string matrix_name(const char* argument, const Shape& shape, int64_t i) {
  std::string whole = fmt::format("{} {}", argument, to_string(shape));
  const Shape batch = shape.slice(0, shape.rank() - 2);
  if (batch.rank() == 0) return whole;
  return fmt::format("matrix {} of {}", to_string(Shape(batch.unravel(i))), whole);
}

void check_finite(const char* operation, const char* argument, const Tensor& x, Part part) {
  if (all_finite(operation, {x})) return;
  on_host(operation, x, [&]<class T>(const KernelCall& at, T) {
    const auto* values = at.in<T>(x);
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (std::isfinite(values[i])) continue;
      const int64_t columns = x.size(-1), matrix = x.size(-2) * columns;
      const int64_t row = i % matrix / columns, column = i % columns;
      if ((part == Part::lower && column > row) || (part == Part::upper && column < row)) continue;
      raise(ErrorKind::numeric, "{}: {} has {} at [{}, {}]", operation, matrix_name(argument, x.shape(), i / matrix),
            static_cast<double>(values[i]), row, column);
    }
  });
}

namespace {
/// Makes a [n, n] symmetric. Returns n n, or the index of a pair that differs by more than rounding.
template <class T>
int64_t make_symmetric(int64_t n, T* a) {
  T largest = -1;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) {
      const T above = a[i * n + j], below = a[j * n + i];
      if (above == below) continue;
      if (largest < 0)
        largest = std::abs(*std::max_element(a, a + n * n, [](T x, T y) { return std::abs(x) < std::abs(y); }));
      if (!(std::abs(above / 2 - below / 2) <= largest * T(0.0005))) return i * n + j;
      a[i * n + j] = a[j * n + i] = above / 2 + below / 2;
    }
  return n * n;
}
}  // namespace

Tensor symmetric_part(const char* operation, const Tensor& a) {
  const int64_t n = a.size(-1);
  Tensor part = detached_copy(a);
  on_host(operation, a, [&]<class T>(const KernelCall& at, T) {
    T* values = at.out<T>(part);
    for (int64_t matrix = 0; n > 0 && matrix < a.numel() / (n * n); ++matrix) {
      const int64_t place = make_symmetric(n, values + matrix * n * n);
      if (place == n * n) continue;
      const int64_t i = place / n, j = place % n;
      const T* const own = at.in<T>(a) + matrix * n * n;
      raise(ErrorKind::numeric, "{}: {} is not symmetric: {} at [{}, {}] and {} at [{}, {}]", operation,
            matrix_name("a", a.shape(), matrix), own[i * n + j], i, j, own[j * n + i], j, i);
    }
  });
  return part;
}

std::vector<int64_t> broadcast_matrices(const Shape& batch, const Shape& whole) {
  std::vector<int64_t> from(static_cast<size_t>(whole.numel()));
  std::iota(from.begin(), from.end(), int64_t{0});
  if (batch == whole) return from;
  for (int64_t i = 0; i < whole.numel(); ++i) {
    const std::vector<int64_t> index = whole.unravel(i);
    int64_t position = 0;
    for (int64_t axis = 0; axis < batch.rank(); ++axis) {
      const int64_t at = index[static_cast<size_t>(axis + whole.rank() - batch.rank())];
      position = position * batch[axis] + (batch[axis] == 1 ? 0 : at);
    }
    from[static_cast<size_t>(i)] = position;
  }
  return from;
}

Tensor detached_copy(const Tensor& x) { return clone(x.detach()); }
Tensor detached_transpose(const Tensor& x) { return transpose(x.detach()); }
Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

Tensor product(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  const MatmulPrecisionScope exact(MatmulPrecision::highest);
  return matmul(a, b, options);
}

Tensor diagonal_matrix(const Tensor& v) { return unsqueeze(v, -1) * eye(v.size(-1), v.options()); }

Tensor diagonal_part(const Tensor& x) { return x * eye(x.size(-1), x.options()); }

Tensor per_matrix(const Tensor& g) { return unsqueeze(unsqueeze(g, -1), -1); }

void check_rhs(const char* operation, const Tensor& a, const Tensor& b, int64_t size_a, int64_t size_b) {
  if (size_a != size_b)
    raise(ErrorKind::shape, "{}: sizes differ: a {} and b {} ({} vs {})", operation, to_string(a.shape()),
          to_string(b.shape()), size_a, size_b);
}

bool is_vector_of(const Tensor& a, const Tensor& b) {
  return b.rank() == 1 || (b.rank() == a.rank() - 1 && b.shape() == a.shape().slice(0, a.rank() - 1));
}

}  // namespace tape::linalg
