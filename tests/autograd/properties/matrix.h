#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "tests/autograd/properties/property.h"

// Linear algebra by textbook loops in long double, on one matrix.
namespace tape::properties {

struct Matrix {
  Matrix(int64_t m, int64_t n) : rows(m), columns(n), values(static_cast<size_t>(m * n)) {}
  long double& operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  long double operator()(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }
  int64_t rows, columns;
  std::vector<long double> values;
};

Matrix one_matrix(int64_t n);
Matrix transposed(const Matrix& a);
Matrix times(const Matrix& a, const Matrix& b);
/// Gauss-Jordan inverse and determinant of a regular matrix.
std::pair<Matrix, long double> inverse_and_determinant(const Matrix& a);
/// Jacobi rotations: ascending eigenvalues, and eigenvectors as columns, of a symmetric matrix.
std::pair<std::vector<long double>, Matrix> jacobi(Matrix a);
/// The lower Cholesky factor, by definition.
Matrix lower_factor(const Matrix& a);
/// Q and R of a matrix with independent columns, by Gram-Schmidt applied twice.
std::pair<Matrix, Matrix> gram_schmidt(const Matrix& a);
/// Taylor series of a / 2^10, squared ten times.
Matrix exponential(const Matrix& a);
/// Least squares for full rank, by the normal equations.
Matrix pseudoinverse(const Matrix& a);

}  // namespace tape::properties
