// Scalars, functions and products of matrices: textbook loops in long double (matrix.h), or the definition.

#include <algorithm>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/linalg.h"
#include "tests/autograd/properties/random_matrices.h"

namespace tape::properties {
namespace {

Case draw_det(Draw& draw) {
  const RandomMatrices from(draw, true);
  return from.case_of(
      from.each(from.batch,
                [&](int64_t i) { return std::vector<long double>{inverse_and_determinant(from.matrix(i)).second}; }),
      [](const Tensors& in) { return linalg::det(in[0]); });
}

Case draw_slogdet(Draw& draw) {
  const RandomMatrices from(draw, true);
  return from.case_of(from.each(from.batch,
                                [&](int64_t i) {
                                  const long double det = inverse_and_determinant(from.matrix(i)).second;
                                  return std::vector<long double>{std::log(std::abs(det)) * (det < 0 ? -1 : 1)};
                                }),
                      [](const Tensors& in) {
                        const linalg::Slogdet both = linalg::slogdet(in[0]);
                        return both.sign * both.logabsdet;
                      });
}

Case draw_trace(Draw& draw) {
  const RandomMatrices from(draw, false);
  return from.case_of(from.each(from.batch,
                                [&](int64_t i) {
                                  long double sum = 0;
                                  const Matrix a = from.matrix(i);
                                  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) sum += a(j, j);
                                  return std::vector<long double>{sum};
                                }),
                      [](const Tensors& in) { return linalg::trace(in[0]); });
}

Case draw_matrix_norm(Draw& draw) {
  const RandomMatrices from(draw, false, 1);
  return from.case_of(from.each(from.batch,
                                [&](int64_t i) {
                                  long double sum = 0;
                                  for (const long double value : squares(from.matrix(i))) sum += value;
                                  return std::vector<long double>{std::sqrt(sum)};
                                }),
                      [](const Tensors& in) { return linalg::matrix_norm(in[0]); });
}

/// The largest or smallest sum of absolute values along rows or columns.
Case draw_matrix_norm_of_sums(Draw& draw) {
  const RandomMatrices from(draw, false, 1);
  const bool rows = draw.chance(0.5), least = draw.chance(0.5);
  const double order = (rows ? HUGE_VAL : 1.0) * (least ? -1 : 1);
  return from.case_of(from.each(from.batch,
                                [&](int64_t i) {
                                  const Matrix a = rows ? transposed(from.matrix(i)) : from.matrix(i);
                                  std::vector<long double> sums(static_cast<size_t>(a.columns));
                                  for (int64_t r = 0; r < a.rows; ++r)
                                    for (int64_t c = 0; c < a.columns; ++c)
                                      sums[static_cast<size_t>(c)] += std::abs(a(r, c));
                                  return std::vector<long double>{least ? *std::min_element(sums.begin(), sums.end())
                                                                        : *std::max_element(sums.begin(), sums.end())};
                                }),
                      [order](const Tensors& in) { return linalg::matrix_norm(in[0], order); });
}

Case draw_matrix_exp(Draw& draw) {
  const RandomMatrices from(draw, true);
  const double scale = draw.one_of({0.001, 0.1, 0.5, 1.0});
  return from.case_of(from.each(from.a.shape(),
                                [&](int64_t i) {
                                  Matrix a = from.matrix(i);
                                  for (long double& value : a.values) value *= scale;
                                  return exponential(a).values;
                                }),
                      [scale](const Tensors& in) { return linalg::matrix_exp(in[0] * scale); });
}

Case draw_matrix_power(Draw& draw) {
  const RandomMatrices from(draw, true);
  const int64_t n = draw.between(-3, 5);
  return from.case_of(from.each(from.a.shape(),
                                [&](int64_t i) {
                                  const Matrix a =
                                      n < 0 ? inverse_and_determinant(from.matrix(i)).first : from.matrix(i);
                                  Matrix power = one_matrix(a.rows);
                                  for (int64_t k = 0; k < std::abs(n); ++k) power = times(power, a);
                                  return power.values;
                                }),
                      [n](const Tensors& in) { return linalg::matrix_power(in[0], n); });
}

Case draw_kron(Draw& draw) {
  const Shape shape = draw.shape(0, 3), other = draw.shape(shape.rank(), 3);
  const DType dtype = draw.floating();
  const bool swapped = draw.chance(0.5);
  const Tensor a = draw.values(swapped ? other : shape, dtype), b = draw.values(swapped ? shape : other, dtype);
  const Array x = exact(a), y = exact(b);
  const int64_t axes = std::max(a.rank(), b.rank());
  const auto size = [axes](const Tensor& t, int64_t axis) {
    const int64_t own = axis - axes + t.rank();
    return own < 0 ? 1 : t.shape()[own];
  };
  std::vector<int64_t> sizes;
  for (int64_t axis = 0; axis < axes; ++axis) sizes.push_back(size(a, axis) * size(b, axis));
  const Array expected = build(sizes, [&](const Index& index) {
    Index of_a, of_b;
    for (int64_t axis = 0; axis < axes; ++axis) {
      const int64_t place = index[static_cast<size_t>(axis)];
      if (axis >= axes - a.rank()) of_a.push_back(place / size(b, axis));
      if (axis >= axes - b.rank()) of_b.push_back(place % size(b, axis));
    }
    return at(x, of_a) * at(y, of_b);
  });
  return {.inputs = {a, b},
          .call = [](const Tensors& in) { return linalg::kron(in[0], in[1]); },
          .expected = expected,
          .dtype = dtype};
}

Case draw_cross(Draw& draw) {
  Shape shape = draw.shape(1, 3);
  const int64_t axis = draw.axis(shape);
  const int64_t front = axis < 0 ? axis + shape.rank() : axis;
  shape = shape.with(front, 3);
  const DType dtype = draw.floating();
  Shape part = shape;
  for (int64_t i = 0; i < shape.rank(); ++i)
    if (i != front && draw.chance(0.3)) part = part.with(i, 1);
  const Tensor a = draw.values(shape, dtype), b = draw.values(part, dtype);
  const Array x = exact(a), y = exact(b);
  const auto terms = [&](const Index& index) {
    const auto moved = [&](int64_t by) {
      Index other = index;
      other[static_cast<size_t>(front)] = (other[static_cast<size_t>(front)] + by) % 3;
      return other;
    };
    const auto of_b = [&](const Index& other) { return at(y, broadcast_index(part, other)); };
    return std::pair(at(x, moved(1)) * of_b(moved(2)), at(x, moved(2)) * of_b(moved(1)));
  };
  const auto difference = [&](const Index& index) { return terms(index).first - terms(index).second; };
  const auto sizes = [&](const Index& index) { return std::abs(terms(index).first) + std::abs(terms(index).second); };
  return {.inputs = {a, b},
          .call = [axis](const Tensors& in) { return linalg::cross(in[0], in[1], axis); },
          .expected = build(shape, difference),
          .dtype = dtype,
          .magnitude = build(shape, sizes),
          .length = 2};
}

Case draw_outer(Draw& draw) {
  const Shape batch = draw.shape(0, 2);
  const DType dtype = draw.floating();
  const int64_t n = draw.size(), m = draw.size();
  const Tensor a = draw.values(batch.inserted(batch.rank(), n), dtype);
  const Tensor b = draw.values(draw.chance(0.3) ? Shape{m} : batch.inserted(batch.rank(), m), dtype);
  const Array x = exact(a), y = exact(b);
  const Array expected = build(with_matrix(batch, n, m), [&](Index index) {
    const int64_t column = index.back();
    index.pop_back();
    const double left = at(x, index);
    index.back() = column;
    return left * at(y, Index(index.end() - b.rank(), index.end()));
  });
  return {.inputs = {a, b},
          .call = [](const Tensors& in) { return linalg::outer(in[0], in[1]); },
          .expected = expected,
          .dtype = dtype};
}

}  // namespace

void add_matrix_functions(std::vector<Property>& all) {
  all.insert(all.end(), {{"det", "det", draw_det},
                         {"slogdet", "slogdet", draw_slogdet},
                         {"trace", "trace", draw_trace},
                         {"matrix_norm", "matrix_norm", draw_matrix_norm},
                         {"matrix_norm_of_sums", nullptr, draw_matrix_norm_of_sums},
                         {"matrix_exp", "matrix_exp", draw_matrix_exp},
                         {"matrix_power", nullptr, draw_matrix_power},
                         {"kron", "kron", draw_kron},
                         {"cross", "cross", draw_cross},
                         {"outer", "outer", draw_outer}});
}

}  // namespace tape::properties
