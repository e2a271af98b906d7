#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "../../kernels/product/common/blas.h"
#include "../../kernels/runtime/common/threads.h"
#include "../../tape/tape.h"
#include "../product/matmul.h"

// What the operations of linear algebra share: matrices in the last two axes, a batch of them in the others.
namespace tape::linalg {

/// A tensor [..., rows, columns] seen as `count` matrices.
struct Matrices {
  Shape batch;
  int64_t count = 0, rows = 0, columns = 0;
  int64_t size() const { return rows * columns; }
  /// The shape of as many matrices or vectors of other sizes.
  Shape of(int64_t r, int64_t c) const { return batch.inserted(batch.rank(), r).inserted(batch.rank() + 1, c); }
  Shape of(int64_t n) const { return batch.inserted(batch.rank(), n); }
};

/// So many matrices may be of no rows or no columns.
inline constexpr int64_t kMostWithoutValues = 1 << 20;

/// Throws Error (dtype) unless x is f32 or f64, (shape) unless it has two axes or more, or for more than
/// kMostWithoutValues matrices without values.
Matrices matrices(const char* operation, const char* argument, const Tensor& x);
/// The same, and Error (shape) `inv: needs square matrices: a [2, 3]`.
Matrices square_matrices(const char* operation, const char* argument, const Tensor& x);

/// "matrix [1, 0] of a [2, 3, 4, 4]", or "a [4, 4]" where there is one alone.
std::string which_matrix(const char* argument, const Shape& shape, int64_t i);

/// The part of a matrix that is read.
enum class Part { all, lower, upper };
/// Throws Error (numeric) `inv: matrix [1] of a [2, 3, 3] has nan at [0, 2]` for the first value that is not finite:
/// LAPACK would give anything, or not come back.
void check_finite(const char* operation, const char* argument, const Tensor& x, Part part = Part::all);

/// (a + aᵀ) / 2 in memory of its own, and where a is symmetric its very bits; not recorded. Throws Error (numeric)
/// `eigh: matrix [1] of a [2, 3, 3] is not symmetric: 2 at [0, 1] and 3 at [1, 0]` for what differs by more than
/// rounding: a thousandth of the largest value.
Tensor symmetric_part(const char* operation, const Tensor& a);

/// Which matrix of a batch goes with matrix i of `whole`, the batch it is broadcast to.
std::vector<int64_t> broadcast_matrices(const Shape& batch, const Shape& whole);

/// A copy of the values, whose memory is nobody else's.
Tensor own_copy(const Tensor& x);
/// The same with the last two axes exchanged: row-major memory of it is column-major memory of x.
Tensor own_transposed(const Tensor& x);

/// xᵀ of the last two axes, recorded.
Tensor transposed(const Tensor& x);
/// matmul in the highest precision, whatever the scope says, recorded.
Tensor product(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});
/// v [..., n] -> [..., n, n] with v on the diagonal, recorded.
Tensor diagonal_matrix(const Tensor& v);
/// x [..., n, n] -> [..., n, n] with zeros off the diagonal, recorded.
Tensor diagonal_part(const Tensor& x);
/// g [...] -> [..., 1, 1], to go with matrices.
Tensor per_matrix(const Tensor& g);

/// Throws Error (shape) `operation: sizes differ: a [3, 3] and b [4, 2] (3 vs 4)`.
void check_sides(const char* operation, const Tensor& a, const Tensor& b, int64_t size_a, int64_t size_b);
/// Whether b is a vector for every matrix of a, not a matrix: one axis, or a's shape without the last axis (PyTorch).
bool is_vector_of(const Tensor& a, const Tensor& b);

/// The first matrix for which LAPACK's info is not 0, or -1.
struct Failure {
  int64_t matrix = -1;
  int info = 0;
};

/// body(i), which gives LAPACK's info, for each matrix, by OpenBLAS on one thread each: a matrix has the same bits
/// however many threads there are. Several share a batch where it is worth it; `work`: multiplications of one matrix.
template <class Body>
Failure over_matrices(int64_t count, double work, const Body& body) {
  constexpr double kWorth = 1 << 16;  // some ten microseconds, which waking a thread costs
  const int64_t parts = std::min<int64_t>({count, int64_t{4} * kernels::num_threads(),
                                           1 + static_cast<int64_t>(static_cast<double>(count) * work / kWorth)});
  std::vector<int> info(static_cast<size_t>(count));
  const auto part = [&](int64_t number) {
    const kernels::OneBlasThread alone;
    for (int64_t i = count * number / parts; i < count * (number + 1) / parts; ++i)
      info[static_cast<size_t>(i)] = body(i);
  };
  kernels::run_tasks(parts, part);
  for (int64_t i = 0; i < count; ++i)
    if (info[static_cast<size_t>(i)] != 0) return {i, info[static_cast<size_t>(i)]};
  return {};
}

}  // namespace tape::linalg
