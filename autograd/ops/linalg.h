#pragma once

#include <optional>

#include "../tensor.h"
#include "reduce/reduce.h"

/// Linear algebra by LAPACK: torch.linalg's names, arguments and results.
///
/// Matrices are the last two axes, [..., m, n], batched over the others; f32 or f64. Sizes may be 0, of no more than
/// 2^20 matrices. Error (dtype) for others and where two tensors differ; Error (shape) `inv: needs square matrices: a
/// [2, 3]` for what has too few axes or sizes that do not fit; Error (numeric) `inv: matrix [1] of a [2, 3, 3] has nan
/// at [0, 2]` for values that are not finite, in what LAPACK reads. All have gradients and second derivatives, in the
/// highest matmul precision. Where one does not exist, or where a value does not, the Error (numeric) says which matrix
/// of the batch it is and why.
///
/// The matrices of a batch are shared among threads, one thread a matrix: results have the same bits for any number of
/// threads.
namespace tape::linalg {

// --- factorizations ---

struct CholeskyOptions {
  bool upper = false;  ///< a = Uᵀ U, U = Lᵀ, instead
};
/// a = L Lᵀ with L lower triangular, of symmetric positive definite a [..., n, n]. What is factored is (a + aᵀ) / 2, so
/// that the gradient is symmetric, as PyTorch's; PyTorch itself reads one triangle, and what is not symmetric up to
/// rounding is refused here. Error (numeric) `cholesky: matrix [1] of a [2, 3, 3] is not symmetric: 2 at [0, 1] and 3
/// at [1, 0]` and `cholesky: matrix [1] of a [2, 3, 3] is not positive definite: its leading minor of order 2 is not
/// positive`.
Tensor cholesky(const Tensor& a, const CholeskyOptions& options = {});

enum class QrMode {
  reduced,   ///< q [..., m, k], r [..., k, n], k = min(m, n)
  complete,  ///< q [..., m, m], r [..., m, n]; no gradient where m > n
  r          ///< r [..., k, n] alone, q is empty ([0]); no gradient
};
struct Qr {
  Tensor q;  ///< orthonormal columns
  Tensor r;  ///< upper triangular
};
/// a = Q R. The signs are LAPACK's: a column of Q and its row of R may be negated together, so that only what does not
/// depend on them has a meaning, and a gradient. The gradient needs the first k columns of a to be independent: Error
/// (numeric) `qr: the gradient does not exist: matrix [1] of a [2, 3, 3]: its first 3 columns are not independent (R[2,
/// 2] is 0)`; (graph) where there is none in this mode.
Qr qr(const Tensor& a, QrMode mode = QrMode::reduced);

// --- spectra ---

struct Eigh {
  Tensor eigenvalues;   ///< [..., n], ascending
  Tensor eigenvectors;  ///< [..., n, n], one a column, orthonormal
};
/// a = V diag(λ) Vᵀ of symmetric a [..., n, n], of (a + aᵀ) / 2 as in cholesky(); the gradient is symmetric. Each
/// column of V may be negated: only what does not depend on these signs has a meaning, and a gradient. The gradient of
/// eigenvectors divides by the differences of eigenvalues: Error (numeric) `eigh: the gradient of the eigenvectors does
/// not exist: matrix [1] of a [2, 3, 3]: eigenvalues 0 and 1 are equal (2 and 2)`. That of the eigenvalues always
/// exists where only their symmetric functions are used.
Eigh eigh(const Tensor& a);
/// The eigenvalues alone.
Tensor eigvalsh(const Tensor& a);

struct Svd {
  Tensor u;   ///< [..., m, k] or, full, [..., m, m]; orthonormal columns
  Tensor s;   ///< [..., k], descending, not negative; k = min(m, n)
  Tensor vh;  ///< [..., k, n] or, full, [..., n, n]; orthonormal rows
};
struct SvdOptions {
  bool full_matrices = true;
};
/// a = U diag(s) Vh. A column of U and its row of Vh may be negated together: only what does not depend on these signs
/// has a meaning, and a gradient. The gradient of U and Vh divides by differences of singular values, and where m != n
/// by themselves: Error (numeric) for equal ones and for 0, as eigh(). Columns of U and rows of Vh beyond k are any
/// basis of what is left, and have no gradient: Error (graph) where one arrives.
Svd svd(const Tensor& a, const SvdOptions& options = {});
/// The singular values alone.
Tensor svdvals(const Tensor& a);

// --- equations ---

struct SolveOptions {
  bool left = true;  ///< a x = b, or x a = b
};
/// The x with a x = b: a [..., n, n], b [..., n, k]; leading axes broadcast. b is a vector, [n], or one a matrix, where
/// it has one axis, or the shape of a without the last; x is then, too. Error (numeric) `solve: matrix [1] of a [2, 3,
/// 3] is singular: pivot 3 is 0`.
Tensor solve(const Tensor& a, const Tensor& b, const SolveOptions& options = {});

struct TriangularOptions {
  bool upper = false;          ///< which triangle of a is read
  bool left = true;            ///< a x = b, or x a = b
  bool unitriangular = false;  ///< the diagonal of a is taken for ones
};
/// solve() of a triangular a; b [..., n, k], or [..., k, n] where a is right. Error (numeric) for a 0 on the diagonal.
Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options);

/// The inverse of a [..., n, n]. Error (numeric) for singular ones.
Tensor inv(const Tensor& a);

struct PinvOptions {
  std::optional<double> atol = {};  ///< 0 where not given
  std::optional<double> rtol = {};  ///< max(m, n) eps where neither is given, else 0
  bool hermitian = false;           ///< a is symmetric: by eigenvalues, their sizes in the place of singular values
};
/// The pseudoinverse (Moore and Penrose) of a [..., m, n] -> [..., n, m]. Singular values at most max(atol, rtol s[0])
/// are taken for 0. The gradient is that of changes that keep the rank (there is no other). Where a is said to be
/// symmetric, (a + aᵀ) / 2 is taken as in cholesky(), with its errors, and the gradient is symmetric.
Tensor pinv(const Tensor& a, const PinvOptions& options = {});

struct Lstsq {
  Tensor solution;         ///< [..., n, k]
  Tensor residuals;        ///< |a x - b|² of each column, [..., k]; [0] unless m > n and every a has full rank
  Tensor rank;             ///< [...] i64
  Tensor singular_values;  ///< [..., min(m, n)] of a; no gradient
};
struct LstsqOptions {
  std::optional<double> rcond = {};  ///< singular values at most rcond s[0] are taken for 0; max(m, n) eps
};
/// The x that minimizes |a x - b|, of those the one of least norm: a [..., m, n], b [..., m, k] or a vector as in
/// solve(). By singular values (PyTorch's driver gelsd). The gradient is that of changes of a that keep its rank.
Lstsq lstsq(const Tensor& a, const Tensor& b, const LstsqOptions& options = {});

// --- numbers of a matrix ---

/// The determinants [...] of a [..., n, n]. Gradients of singular matrices, too; their second derivative is an Error
/// (numeric).
Tensor det(const Tensor& a);
struct Slogdet {
  Tensor sign;       ///< [...]: -1, 0 or 1; no gradient
  Tensor logabsdet;  ///< [...]: -inf for singular matrices, whose gradient is an Error (numeric)
};
/// det(a) = sign e^logabsdet, where det() itself would overflow.
Slogdet slogdet(const Tensor& a);
/// The sum of the diagonal of a [..., m, n].
Tensor trace(const Tensor& a);

enum class MatrixNorm { fro, nuc };
struct MatrixNormOptions {
  int64_t rows = -2, columns = -1;  ///< the axes
  Dims dims = Dims::drop;
};
/// fro: √Σ aᵢⱼ², gradient 0 at 0; nuc: the sum of the singular values.
Tensor matrix_norm(const Tensor& a, MatrixNorm order = MatrixNorm::fro, const MatrixNormOptions& options = {});
/// inf and -inf: the largest and the least sum of |aᵢⱼ| of a row, 1 and -1 of a column; 2 and -2: the largest and the
/// least singular value. Error (config) for other orders.
Tensor matrix_norm(const Tensor& a, double order, const MatrixNormOptions& options = {});

// --- functions of a matrix ---

/// a multiplied n times by itself; its inverse where n is negative.
Tensor matrix_power(const Tensor& a, int64_t n);
/// Σ aᵏ / k!. Error (numeric) where it overflows.
Tensor matrix_exp(const Tensor& a);

// --- products ---

/// The Kronecker product: every element of a times all of b, sizes multiplied axis by axis. The one with fewer axes
/// gets axes of size 1 in front. At most four axes.
Tensor kron(const Tensor& a, const Tensor& b);
/// a x b along an axis of size 3; the other axes broadcast.
Tensor cross(const Tensor& a, const Tensor& b, int64_t axis = -1);
/// a [..., n], b [..., m] -> a[..., i] b[..., j]; leading axes broadcast.
Tensor outer(const Tensor& a, const Tensor& b);

}  // namespace tape::linalg
