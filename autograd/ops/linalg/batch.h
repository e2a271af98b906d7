#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "../../kernels/product/common/blas.h"
#include "../../kernels/runtime/common/threads.h"
#include "../../tape/tape.h"
#include "../kernel_call.h"
#include "../product/matmul.h"

// Batched matrices, shared by all linear algebra: the last two axes are a matrix, the others the batch.
namespace tape::linalg {

/// A tensor [..., rows, columns] viewed as `count` matrices.
struct Matrices {
  Shape batch;
  int64_t count = 0, rows = 0, columns = 0;
  int64_t size() const { return rows * columns; }
  /// Shape of the same batch with matrices or vectors of other sizes.
  Shape of(int64_t r, int64_t c) const { return batch.inserted(batch.rank(), r).inserted(batch.rank() + 1, c); }
  Shape of(int64_t n) const { return batch.inserted(batch.rank(), n); }
};

/// Calls body(at, T()) with the dtype's type T and returns what it returns. LAPACK runs on the host; `at` gives the
/// addresses of tensors there.
template <class Body>
auto on_host(const char* operation, const Tensor& like, const Body& body) {
  using Result = decltype(body(std::declval<const KernelCall&>(), float{}));
  const auto dispatched = [&](const KernelCall& at) {
    return dispatch_floating(operation, like.dtype(), [&](auto type) { return body(at, type); });
  };
  if constexpr (std::is_void_v<Result>) {
    run_on_host(operation, like.device(), dispatched);
  } else {
    Result result;
    run_on_host(operation, like.device(), [&](const KernelCall& at) { result = dispatched(at); });
    return result;
  }
}

/// Maximum number of matrices with no rows or no columns.
inline constexpr int64_t kMaxEmptyMatrices = 1 << 20;

/// Throws Error (dtype) unless x is f32 or f64, (shape) for fewer than two axes or for more than kMaxEmptyMatrices
/// empty matrices.
Matrices matrices(const char* operation, const char* argument, const Tensor& x);
/// Also throws Error (shape) `inv: needs square matrices: a [2, 3]`.
Matrices square_matrices(const char* operation, const char* argument, const Tensor& x);

/// "matrix [1, 0] of a [2, 3, 4, 4]", or "a [4, 4]" without a batch.
std::string matrix_name(const char* argument, const Shape& shape, int64_t i);

/// The part of a matrix that an operation reads.
enum class Part { all, lower, upper };
/// Throws Error (numeric) `inv: matrix [1] of a [2, 3, 3] has nan at [0, 2]` for the first non-finite value, for which
/// LAPACK might return anything or never return.
void check_finite(const char* operation, const char* argument, const Tensor& x, Part part = Part::all);

/// (a + aᵀ) / 2 in new memory, bitwise equal to a where a is symmetric; not recorded. Throws Error (numeric) `eigh:
/// matrix [1] of a [2, 3, 3] is not symmetric: 2 at [0, 1] and 3 at [1, 0]` for differences beyond rounding: more than
/// a thousandth of the largest value.
Tensor symmetric_part(const char* operation, const Tensor& a);

/// For each matrix of `whole`, to which `batch` is broadcast, the index of its matrix in `batch`.
std::vector<int64_t> broadcast_matrices(const Shape& batch, const Shape& whole);

/// A copy of x that shares no memory.
Tensor detached_copy(const Tensor& x);
/// A copy with the last two axes swapped: its row-major memory is x in column-major order.
Tensor detached_transpose(const Tensor& x);

/// x with the last two axes swapped, recorded.
Tensor transposed(const Tensor& x);
/// matmul in the highest precision regardless of the scope, recorded.
Tensor product(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});
/// v [..., n] -> [..., n, n] with v on the diagonal, recorded.
Tensor diagonal_matrix(const Tensor& v);
/// x [..., n, n] -> [..., n, n] with zeros off the diagonal, recorded.
Tensor diagonal_part(const Tensor& x);
/// g [...] -> [..., 1, 1], to broadcast against matrices.
Tensor per_matrix(const Tensor& g);

/// Throws Error (shape) `operation: sizes differ: a [3, 3] and b [4, 2] (3 vs 4)`.
void check_rhs(const char* operation, const Tensor& a, const Tensor& b, int64_t size_a, int64_t size_b);
/// Whether b holds a vector per matrix of a: one axis, or a's shape without the last axis (as in PyTorch).
bool is_vector_of(const Tensor& a, const Tensor& b);

/// The first matrix whose LAPACK info is not 0; -1 if there is none.
struct LapackFailure {
  int64_t matrix = -1;
  int info = 0;
};

/// Calls body(i), which returns LAPACK's info, for each matrix. Each call runs OpenBLAS on one thread, so results are
/// bitwise independent of the number of threads. Large enough batches are split over threads; `work` is the number of
/// multiplications per matrix.
template <class Body>
LapackFailure for_each_matrix(int64_t count, double work, const Body& body) {
  constexpr double kWorth = 1 << 16;  // about ten microseconds, the cost of waking a thread
  const int64_t parts = std::min<int64_t>({count, int64_t{4} * kernels::num_threads(),
                                           1 + static_cast<int64_t>(static_cast<double>(count) * work / kWorth)});
  std::vector<int> info(static_cast<size_t>(count));
  const auto part = [&](int64_t number) {
    const kernels::SingleThreadedBlas alone;
    for (int64_t i = count * number / parts; i < count * (number + 1) / parts; ++i)
      info[static_cast<size_t>(i)] = body(i);
  };
  kernels::run_tasks(parts, part);
  for (int64_t i = 0; i < count; ++i)
    if (info[static_cast<size_t>(i)] != 0) return {i, info[static_cast<size_t>(i)]};
  return {};
}

}  // namespace tape::linalg
