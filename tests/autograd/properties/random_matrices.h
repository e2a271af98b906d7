#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/create.h"
#include "tests/autograd/properties/matrix.h"

namespace tape::properties {

inline Shape with_matrix(const Shape& batch, int64_t rows, int64_t columns) {
  return batch.inserted(batch.rank(), rows).inserted(batch.rank() + 1, columns);
}

/// The usual draw: a batch of matrices with 2, 3.5, 5, ... on the diagonal and less than 0.3 elsewhere.
struct RandomMatrices {
  RandomMatrices(Draw& draw, bool square, int64_t least = 0)
      : batch(draw.shape(0, 1)),
        rows(std::max(least, std::min<int64_t>(draw.size(), 4))),
        columns(square ? rows : std::max(least, std::min<int64_t>(draw.size(), 4))),
        dtype(draw.floating()) {
    const Shape shape = with_matrix(batch, rows, columns);
    std::vector<double> values(static_cast<size_t>(shape.numel()));
    for (int64_t i = 0; i < shape.numel(); ++i) {
      const int64_t row = i / columns % rows, column = i % columns;
      values[static_cast<size_t>(i)] =
          row == column ? 2 + 1.5 * static_cast<double>(row) + draw.uniform(0, 0.3) : draw.uniform(-0.3, 0.3);
    }
    a = draw.values(shape, dtype);
    a.copy_(from_vector(values, shape));
    exact_a = exact(a);
  }
  int64_t count() const { return batch.numel(); }
  Matrix matrix(int64_t i) const { return matrix_of(exact_a, rows, columns, i); }
  static Matrix matrix_of(const Array& values, int64_t rows, int64_t columns, int64_t i) {
    Matrix one(rows, columns);
    for (int64_t k = 0; k < rows * columns; ++k)
      one.values[static_cast<size_t>(k)] = values.data()[i * rows * columns + k];
    return one;
  }
  /// a + aᵀ for matrix i.
  Matrix symmetric(int64_t i) const {
    Matrix one = matrix(i);
    const Matrix other = transposed(one);
    for (size_t k = 0; k < one.values.size(); ++k) one.values[k] += other.values[k];
    return one;
  }
  /// f(i) for each matrix, written into elements [i, ...] of the result.
  template <class F>
  Array each(const Shape& shape, const F& f) const {
    Array result = zeros_of(shape);
    for (int64_t i = 0; i < count(); ++i) {
      const std::vector<long double> values = f(i);
      for (size_t k = 0; k < values.size(); ++k)
        result.data()[static_cast<size_t>(i) * values.size() + k] = static_cast<double>(values[k]);
    }
    return result;
  }
  /// Errors grow with the condition number, which is at most about 20, and with the number of terms in the sums.
  Case case_of(const Array& expected, std::function<Tensor(const Tensors&)> call, const Tensors& more = {}) const {
    double largest = 1;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    Tensors inputs{a};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return {.inputs = inputs,
            .call = std::move(call),
            .expected = expected,
            .dtype = dtype,
            .magnitude = build(shape_of(expected), [=](const Index&) { return 20 * largest; }),
            .length = std::max(rows, columns) + 1};
  }

  Shape batch;
  int64_t rows, columns;
  DType dtype;
  Tensor a;
  Array exact_a;
};

inline std::vector<long double> squares(const Matrix& a) {
  std::vector<long double> all;
  for (const long double value : a.values) all.push_back(value * value);
  return all;
}

}  // namespace tape::properties
