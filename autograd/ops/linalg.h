#pragma once

#include <optional>

#include "../tensor.h"
#include "reduce/reduce.h"

/// Linear algebra with LAPACK. Names, arguments and results follow torch.linalg.
///
/// Matrices are the last two axes, [..., m, n], batched over the others; f32 or f64. Sizes may be 0; at most 2^20
/// matrices. All functions have gradients and second derivatives, computed in the highest matmul precision.
///
/// Error (dtype) for other dtypes and for operands that differ in dtype. Error (shape) `inv: needs square matrices: a
/// [2, 3]` for too few axes or sizes that do not fit. Error (numeric) `inv: matrix [1] of a [2, 3, 3] has nan at [0,
/// 2]` for non-finite values in the input of LAPACK. Where a value or a gradient does not exist, Error (numeric) names
/// the matrix of the batch and the reason.
///
/// Batches are distributed over threads, one matrix per thread: results are bitwise identical for any number of
/// threads.
namespace tape::linalg {

// --- factorizations ---

/// Options of cholesky().
struct CholeskyOptions {
  bool upper = false;  ///< return U = Lᵀ with a = Uᵀ U instead
};
/// Cholesky factorization a = L Lᵀ, L lower triangular, of symmetric positive definite a [..., n, n]. Factors
/// (a + aᵀ) / 2, so that the gradient is symmetric as in PyTorch. Unlike PyTorch, which reads only one triangle, this
/// rejects matrices that are not symmetric up to rounding. Error (numeric) `cholesky: matrix [1] of a [2, 3, 3] is not
/// symmetric: 2 at [0, 1] and 3 at [1, 0]` and `cholesky: matrix [1] of a [2, 3, 3] is not positive definite: its
/// leading minor of order 2 is not positive`.
Tensor cholesky(const Tensor& a, const CholeskyOptions& options = {});

/// What qr() returns.
enum class QrMode {
  reduced,   ///< q [..., m, k], r [..., k, n], k = min(m, n)
  complete,  ///< q [..., m, m], r [..., m, n]; no gradient if m > n
  r          ///< only r [..., k, n], q is empty ([0]); no gradient
};
/// Result of qr(); shapes as in QrMode.
struct Qr {
  Tensor q;  ///< orthonormal columns
  Tensor r;  ///< upper triangular
};
/// QR factorization a = Q R. Signs are LAPACK's: a column of Q and the matching row of R may be negated together, so
/// only quantities that do not depend on these signs are meaningful and have a gradient. The gradient needs the first k
/// columns of a to be independent: otherwise Error (numeric) `qr: the gradient does not exist: matrix [1] of a [2, 3,
/// 3]: its first 3 columns are not independent (R[2, 2] is 0)`. Error (graph) if the mode has no gradient.
Qr qr(const Tensor& a, QrMode mode = QrMode::reduced);

// --- spectra ---

/// Result of eigh().
struct Eigh {
  Tensor eigenvalues;   ///< [..., n], ascending
  Tensor eigenvectors;  ///< [..., n, n], orthonormal columns
};
/// Eigendecomposition a = V diag(λ) Vᵀ of symmetric a [..., n, n]. Uses (a + aᵀ) / 2 like cholesky(); the gradient is
/// symmetric. Columns of V may be negated: only quantities that do not depend on these signs are meaningful and have a
/// gradient. The gradient of the eigenvectors divides by differences of eigenvalues: Error (numeric) `eigh: the
/// gradient of the eigenvectors does not exist: matrix [1] of a [2, 3, 3]: eigenvalues 0 and 1 are equal (2 and 2)`.
/// The gradient of the eigenvalues always exists if only symmetric functions of them are used.
Eigh eigh(const Tensor& a);
/// Only the eigenvalues of eigh().
Tensor eigvalsh(const Tensor& a);

/// Result of svd().
struct Svd {
  Tensor u;   ///< [..., m, k], or [..., m, m] if full; orthonormal columns
  Tensor s;   ///< [..., k], descending, not negative; k = min(m, n)
  Tensor vh;  ///< [..., k, n], or [..., n, n] if full; orthonormal rows
};
/// Options of svd().
struct SvdOptions {
  bool full_matrices = true;  ///< return square u and vh; otherwise only k columns and rows
};
/// Singular value decomposition a = U diag(s) Vh. A column of U and the matching row of Vh may be negated together:
/// only quantities that do not depend on these signs are meaningful and have a gradient. The gradient of U and Vh
/// divides by differences of singular values and, if m != n, by the singular values: Error (numeric) for equal or zero
/// ones, as in eigh(). Columns of U and rows of Vh beyond k are an arbitrary basis of the complement and have no
/// gradient: Error (graph) if one arrives.
Svd svd(const Tensor& a, const SvdOptions& options = {});
/// Only the singular values of svd().
Tensor svdvals(const Tensor& a);

// --- equations ---

/// Options of solve().
struct SolveOptions {
  bool left = true;  ///< solve a x = b; otherwise x a = b
};
/// Solves a x = b for x: a [..., n, n], b [..., n, k]; leading axes broadcast. b holds vectors, [..., n], if it has one
/// axis or the shape of a without the last axis; so does x then. Error (numeric) `solve: matrix [1] of a [2, 3, 3] is
/// singular: pivot 3 is 0`.
Tensor solve(const Tensor& a, const Tensor& b, const SolveOptions& options = {});

/// Options of solve_triangular().
struct TriangularOptions {
  bool upper = false;          ///< which triangle of a is read
  bool left = true;            ///< solve a x = b; otherwise x a = b
  bool unitriangular = false;  ///< treat the diagonal of a as ones
};
/// solve() for triangular a; b [..., n, k], or [..., k, n] if not left. Error (numeric) for a 0 on the diagonal.
Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options);

/// Inverse of a [..., n, n]. Error (numeric) for singular matrices.
Tensor inv(const Tensor& a);

/// Options of pinv().
struct PinvOptions {
  std::optional<double> atol = {};  ///< default: 0
  std::optional<double> rtol = {};  ///< default: max(m, n) eps, or 0 if atol is set
  bool hermitian = false;           ///< a is symmetric: use the magnitudes of eigenvalues as singular values
};
/// Moore-Penrose pseudoinverse of a [..., m, n] -> [..., n, m]. Singular values of at most max(atol, rtol s[0]) count
/// as 0. The gradient is for changes of a that preserve the rank; there is no other. With `hermitian`, uses (a + aᵀ) /
/// 2 like cholesky(), with its errors, and the gradient is symmetric.
Tensor pinv(const Tensor& a, const PinvOptions& options = {});

/// Result of lstsq().
struct Lstsq {
  Tensor solution;         ///< [..., n, k]
  Tensor residuals;        ///< |a x - b|² of each column, [..., k]; [0] unless m > n and all matrices have full rank
  Tensor rank;             ///< [...] i64
  Tensor singular_values;  ///< [..., min(m, n)] of a; no gradient
};
/// Options of lstsq().
struct LstsqOptions {
  std::optional<double> rcond = {};  ///< singular values of at most rcond s[0] count as 0; default: max(m, n) eps
};
/// Minimum-norm x that minimizes |a x - b|: a [..., m, n], b [..., m, k] or vectors as in solve(). Uses singular values
/// (PyTorch's driver gelsd). The gradient is for changes of a that preserve its rank.
Lstsq lstsq(const Tensor& a, const Tensor& b, const LstsqOptions& options = {});

// --- matrix properties ---

/// Determinants [...] of a [..., n, n]. Singular matrices have a gradient; their second derivative throws Error
/// (numeric).
Tensor det(const Tensor& a);
/// Result of slogdet().
struct Slogdet {
  Tensor sign;       ///< [...]: -1, 0 or 1; no gradient
  Tensor logabsdet;  ///< [...]: -inf for singular matrices, whose gradient throws Error (numeric)
};
/// det(a) = sign e^logabsdet, for determinants that would overflow in det().
Slogdet slogdet(const Tensor& a);
/// Sum of the diagonal of a [..., m, n].
Tensor trace(const Tensor& a);

/// Norms that have a name: Frobenius and nuclear.
enum class MatrixNorm { fro, nuc };
/// Options of matrix_norm().
struct MatrixNormOptions {
  /// The two axes of a matrix.
  /// @{
  int64_t rows = -2, columns = -1;
  /// @}
  Dims dims = Dims::drop;  ///< whether both axes are dropped or kept with size 1
};
/// fro: √Σ aᵢⱼ², with gradient 0 at 0; nuc: sum of the singular values.
Tensor matrix_norm(const Tensor& a, MatrixNorm order = MatrixNorm::fro, const MatrixNormOptions& options = {});
/// Orders inf and -inf: largest and smallest row sum of |aᵢⱼ|; 1 and -1: largest and smallest column sum; 2 and -2:
/// largest and smallest singular value. Error (config) for other orders.
Tensor matrix_norm(const Tensor& a, double order, const MatrixNormOptions& options = {});

// --- functions of a matrix ---

/// a multiplied n times by itself; for negative n, the same power of the inverse.
Tensor matrix_power(const Tensor& a, int64_t n);
/// Matrix exponential Σ aᵏ / k!. Error (numeric) on overflow.
Tensor matrix_exp(const Tensor& a);

// --- products ---

/// Kronecker product: each element of a times all of b; sizes multiply axis by axis. The operand with fewer axes is
/// padded with leading axes of size 1. At most four axes.
Tensor kron(const Tensor& a, const Tensor& b);
/// Cross product a x b along an axis of size 3; the other axes broadcast.
Tensor cross(const Tensor& a, const Tensor& b, int64_t axis = -1);
/// Outer product a [..., n], b [..., m] -> a[..., i] b[..., j]; leading axes broadcast.
Tensor outer(const Tensor& a, const Tensor& b);

}  // namespace tape::linalg
