#include "tests/autograd/properties/matrix.h"

#include <algorithm>
#include <numeric>

namespace tape::properties {

Matrix one_matrix(int64_t n) {
  Matrix one(n, n);
  for (int64_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
  return t;
}

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k)
      for (int64_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}

std::pair<Matrix, long double> inverse_and_determinant(const Matrix& a) {
  const int64_t n = a.rows;
  Matrix left = a, right = one_matrix(n);
  long double determinant = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k; i < n; ++i)
      if (std::abs(left(i, k)) > std::abs(left(pivot, k))) pivot = i;
    if (pivot != k) determinant = -determinant;
    for (int64_t j = 0; j < n; ++j) std::swap(left(k, j), left(pivot, j)), std::swap(right(k, j), right(pivot, j));
    const long double p = left(k, k);
    determinant *= p;
    for (int64_t j = 0; j < n; ++j) left(k, j) /= p, right(k, j) /= p;
    for (int64_t i = 0; i < n; ++i) {
      const long double factor = i == k ? 0 : left(i, k);
      for (int64_t j = 0; j < n; ++j) left(i, j) -= factor * left(k, j), right(i, j) -= factor * right(k, j);
    }
  }
  return {right, determinant};
}

std::pair<std::vector<long double>, Matrix> jacobi(Matrix a) {
  const int64_t n = a.rows;
  Matrix v = one_matrix(n);
  for (int sweep = 0; sweep < 10; ++sweep)
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        const long double angle = 0.5L * std::atan2(2 * a(p, q), a(q, q) - a(p, p));
        const long double c = std::cos(angle), s = std::sin(angle);
        Matrix turn = one_matrix(n);
        turn(p, p) = turn(q, q) = c, turn(p, q) = s, turn(q, p) = -s;
        a = times(times(transposed(turn), a), turn);
        v = times(v, turn);
      }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&a](int64_t i, int64_t j) { return a(i, i) < a(j, j); });
  std::vector<long double> values;
  Matrix vectors(n, n);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values.push_back(a(from, from));
    for (int64_t i = 0; i < n; ++i) vectors(i, j) = v(i, from);
  }
  return {values, vectors};
}

Matrix lower_factor(const Matrix& a) {
  Matrix l(a.rows, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      long double rest = a(i, j);
      for (int64_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
      l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
    }
  return l;
}

std::pair<Matrix, Matrix> gram_schmidt(const Matrix& a) {
  const int64_t k = std::min(a.rows, a.columns);
  Matrix q(a.rows, k);
  for (int64_t j = 0; j < k; ++j) {
    std::vector<long double> column;
    for (int64_t i = 0; i < a.rows; ++i) column.push_back(a(i, j));
    const auto dot = [&](int64_t other) {
      long double sum = 0;
      for (int64_t i = 0; i < a.rows; ++i) sum += q(i, other) * column[static_cast<size_t>(i)];
      return sum;
    };
    for (int again = 0; again < 2; ++again)
      for (int64_t other = 0; other < j; ++other) {
        const long double part = dot(other);
        for (int64_t i = 0; i < a.rows; ++i) column[static_cast<size_t>(i)] -= part * q(i, other);
      }
    const long double length = std::sqrt(std::inner_product(column.begin(), column.end(), column.begin(), 0.0L));
    for (int64_t i = 0; i < a.rows; ++i) q(i, j) = column[static_cast<size_t>(i)] / length;
  }
  return {q, times(transposed(q), a)};
}

Matrix exponential(const Matrix& a) {
  Matrix x = a, sum = one_matrix(a.rows), term = sum;
  for (long double& value : x.values) value /= 1024;
  for (int k = 1; k < 30; ++k) {
    term = times(term, x);
    for (long double& value : term.values) value /= k;
    for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += term.values[i];
  }
  for (int i = 0; i < 10; ++i) sum = times(sum, sum);
  return sum;
}

Matrix pseudoinverse(const Matrix& a) {
  const Matrix t = transposed(a);
  if (a.rows >= a.columns) return times(inverse_and_determinant(times(t, a)).first, t);
  return times(t, inverse_and_determinant(times(a, t)).first);
}

}  // namespace tape::properties
