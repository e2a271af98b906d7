// Matrix products: loops over the definition.

#include <algorithm>
#include <cmath>

#include "autograd/ops/product/einsum.h"
#include "autograd/ops/product/matmul.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// Sums of products, and the sums of their absolute values.
struct Sums {
  Array values, sizes;
};

/// out[..., i, j] = sum_k a(..., i, k) b(..., k, j); operands broadcast except for their last two axes.
template <class Out, class A, class B>
void multiply(const Shape& out_shape, int64_t inner, Out& out, const A& a, const B& b) {
  out.values = zeros_of(out_shape), out.sizes = zeros_of(out_shape);
  for (int64_t i = 0; i < out_shape.numel(); ++i) {
    const Index index = out_shape.unravel(i);
    for (int64_t k = 0; k < inner; ++k) {
      const double term = a(index, k) * b(index, k);
      out.values.data()[i] += term;
      out.sizes.data()[i] += std::abs(term);
    }
  }
}

/// The element of a matrix operand for an index of the result, with `row` and `col` instead of its last two.
double element(const Array& operand, bool transposed, Index index, int64_t row, int64_t col) {
  index[index.size() - 2] = transposed ? col : row;
  index[index.size() - 1] = transposed ? row : col;
  const Shape shape = shape_of(operand);
  Index own(index.end() - shape.rank(), index.end());
  for (int64_t axis = 0; axis < shape.rank() - 2; ++axis)
    if (shape[axis] == 1) own[static_cast<size_t>(axis)] = 0;
  return at(operand, own);
}

Shape matrix_shape(const Shape& leading, int64_t rows, int64_t cols, bool transposed) {
  const Shape one = leading.inserted(leading.rank(), transposed ? cols : rows);
  return one.inserted(one.rank(), transposed ? rows : cols);
}

Case draw_matmul(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape leading = draw.shape(0, 2), part = draw.part_of(leading);
  const int64_t m = draw.size(), n = draw.chance(0.2) ? draw.between(15, 40) : draw.size();
  const int64_t inner = draw.chance(0.2) ? draw.between(15, 70) : draw.size();
  const bool swapped = draw.chance(0.5), ta = draw.chance(0.3), tb = draw.chance(0.3);
  const Tensor a = draw.values(matrix_shape(swapped ? part : leading, m, inner, ta), dtype);
  const Tensor b = draw.values(matrix_shape(swapped ? leading : part, inner, n, tb), dtype);
  const Array x = exact(a), y = exact(b);
  Sums sums;
  multiply(
      matrix_shape(leading, m, n, false), inner, sums,
      [&](const Index& index, int64_t k) { return element(x, ta, index, index[index.size() - 2], k); },
      [&](const Index& index, int64_t k) { return element(y, tb, index, k, index.back()); });
  return {.inputs = {a, b},
          .call =
              [=](const Tensors& in) {
                return ta || tb ? matmul(in[0], in[1], {.transpose_a = ta, .transpose_b = tb}) : matmul(in[0], in[1]);
              },
          .expected = sums.values,
          .dtype = dtype,
          .magnitude = sums.sizes,
          .length = std::max<int64_t>(1, inner)};
}

/// A vector as either operand, or as both.
Case draw_matmul_vector(Draw& draw) {
  const DType dtype = draw.floating();
  const int64_t inner = draw.size(), n = draw.size();
  const bool row = draw.chance(0.5), both = draw.chance(0.2);
  const Tensor vector = draw.values({inner}, dtype);
  const Tensor matrix = draw.values(both ? Shape{inner} : row ? Shape{inner, n} : Shape{n, inner}, dtype);
  const Array v = exact(vector), w = exact(matrix);
  Sums sums;
  multiply(
      both ? Shape{} : Shape{n}, inner, sums, [&](const Index&, int64_t k) { return v.data()[k]; },
      [&](const Index& index, int64_t k) {
        return both ? w.data()[k] : row ? at(w, {k, index[0]}) : at(w, {index[0], k});
      });
  return {.inputs = row ? Tensors{vector, matrix} : Tensors{matrix, vector},
          .call = [](const Tensors& in) { return matmul(in[0], in[1]); },
          .expected = sums.values,
          .dtype = dtype,
          .magnitude = sums.sizes,
          .length = std::max<int64_t>(1, inner)};
}

Case draw_linear(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape leading = draw.shape(0, 3);
  const int64_t in_size = draw.size(), out_size = draw.size();
  const Tensor x = draw.values(leading.inserted(leading.rank(), in_size), dtype);
  const Tensor weight = draw.values({out_size, in_size}, dtype), bias = draw.values({out_size}, dtype);
  const bool with_bias = draw.chance(0.6);
  const Array rows = exact(x), w = exact(weight), added = exact(bias);
  Sums sums;
  multiply(
      leading.inserted(leading.rank(), out_size), in_size, sums,
      [&](Index index, int64_t k) { return index.back() = k, at(rows, index); },
      [&](const Index& index, int64_t k) {
        return at(w, {index.back(), k});
      });
  if (with_bias) sums.values += added, sums.sizes += xt::abs(added);
  return {.inputs = with_bias ? Tensors{x, weight, bias} : Tensors{x, weight},
          .call = [](const Tensors& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); },
          .expected = sums.values,
          .dtype = dtype,
          .magnitude = sums.sizes,
          .length = in_size + 1};
}

/// An equation of up to three operands over the letters a to d, by loops over all letters.
Case draw_einsum(Draw& draw) {
  const DType dtype = draw.floating();
  int64_t sizes[4];
  for (int64_t& size : sizes) size = draw.between(1, 4);
  Tensors operands;
  std::vector<std::string> terms;
  std::string present;
  for (int64_t n = draw.between(1, 3); n > 0; --n) {
    std::string term;
    std::vector<int64_t> shape;
    for (int64_t letters = draw.between(0, 3); letters > 0; --letters) {
      const int64_t letter = draw.between(0, 3);
      term += static_cast<char>('a' + letter);
      shape.push_back(sizes[letter]);
      if (present.find(term.back()) == std::string::npos) present += term.back();
    }
    terms.push_back(term);
    operands.push_back(draw.values(shape, dtype));
  }
  std::string result;
  std::vector<int64_t> shape;
  for (const char letter : present)
    if (draw.chance(0.5)) result += letter, shape.push_back(sizes[letter - 'a']);
  std::string equation = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) equation += "," + terms[i];
  equation += "->" + result;

  std::vector<Array> values;
  for (const Tensor& operand : operands) values.push_back(exact(operand));
  Array expected = zeros_of(shape), magnitude = expected;
  std::vector<int64_t> present_sizes;
  for (const char letter : present) present_sizes.push_back(sizes[letter - 'a']);
  const Shape space(present_sizes);
  const auto index_of = [&](const std::string& letters, const Index& point) {
    Index index;
    for (const char letter : letters) index.push_back(point[present.find(letter)]);
    return index;
  };
  for (int64_t i = 0; i < space.numel(); ++i) {
    const Index point = space.unravel(i);
    double product = 1;
    for (size_t t = 0; t < terms.size(); ++t) product *= at(values[t], index_of(terms[t], point));
    const int64_t to = flat(shape, index_of(result, point));
    expected.data()[to] += product;
    magnitude.data()[to] += std::abs(product);
  }
  return {
      .inputs = operands,
      .call = [equation](const Tensors& in) { return einsum(equation, in); },
      .expected = expected,
      .dtype = dtype,
      .magnitude = magnitude,
      .length = std::max<int64_t>(1, space.numel() / std::max<int64_t>(1, Shape(shape).numel())) + std::ssize(terms)};
}

}  // namespace

void add_products(std::vector<Property>& all) {
  all.insert(all.end(), {{"matmul", "matmul", draw_matmul},
                         {"matmul_vector", "matmul", draw_matmul_vector},
                         {"linear", "linear", draw_linear},
                         {"einsum", "matmul", draw_einsum}});
}

}  // namespace tape::properties
