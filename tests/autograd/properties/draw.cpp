#include <algorithm>
#include <numeric>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/shape/shape.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {

int64_t Draw::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
}

double Draw::uniform(double low, double high) {
  return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
}

bool Draw::chance(double p) { return uniform(0, 1) < p; }

int64_t Draw::size() {
  const double kind = uniform(0, 1);
  return kind < 0.04 ? 0 : kind < 0.2 ? 1 : between(2, 5);
}

Shape Draw::shape(int64_t min_rank, int64_t max_rank) {
  std::vector<int64_t> sizes(static_cast<size_t>(between(min_rank, max_rank)));
  for (int64_t& size : sizes) size = this->size();
  if (!sizes.empty() && chance(0.15)) sizes[static_cast<size_t>(between(0, std::ssize(sizes) - 1))] = between(15, 70);
  return sizes;
}

Shape Draw::part_of(const Shape& whole) {
  std::vector<int64_t> sizes;
  for (int64_t axis = chance(0.3) ? between(0, whole.rank()) : 0; axis < whole.rank(); ++axis)
    sizes.push_back(chance(0.25) ? 1 : whole[axis]);
  return sizes;
}

int64_t Draw::axis(const Shape& shape) { return between(-shape.rank(), shape.rank() - 1); }

std::vector<int64_t> Draw::axes(const Shape& shape) {
  std::vector<int64_t> all(static_cast<size_t>(shape.rank()));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), engine_);
  if (!all.empty()) all.resize(static_cast<size_t>(between(1, std::ssize(all))));
  for (int64_t& axis : all) axis -= chance(0.5) ? shape.rank() : 0;
  return all;
}

Tensor Draw::values(const Shape& shape, DType dtype, double low, double high) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (double& value : values) value = uniform(low, high);
  return placed(from_vector(values, shape).to(dtype));
}

Tensor Draw::distinct(const Shape& shape, DType dtype, int lane) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 0.1 * (static_cast<double>(i) - static_cast<double>(values.size() / 2)) + 0.02 + 0.03 * lane;
  std::shuffle(values.begin(), values.end(), engine_);
  return placed(from_vector(values, shape).to(dtype));
}

Tensor Draw::whole(const Shape& shape, DType dtype, int64_t low, int64_t high) {
  std::vector<int64_t> values(static_cast<size_t>(shape.numel()));
  for (int64_t& value : values) value = between(low, high);
  return placed(from_vector(values, shape).to(dtype));
}

/// The same values as a view into a larger tensor, or as the result of a rearrangement.
Tensor Draw::placed(const Tensor& contiguous) {
  const Shape& shape = contiguous.shape();
  switch (between(0, 4)) {
    case 0: {  // rows in the middle of others
      if (shape.rank() == 0) return contiguous;
      Tensor more = full(shape.with(0, shape[0] + 3), 77, contiguous.dtype());
      Tensor part = slice(more, 0, {.start = 1, .end = 1 + shape[0]});
      return part.copy_(contiguous), part;
    }
    case 1: {  // one row of several
      if (shape.rank() == Shape::kMaxRank) return contiguous;
      Tensor more = full(shape.inserted(0, 3), 77, contiguous.dtype());
      Tensor part = select(more, 0, 1);
      return part.copy_(contiguous), part;
    }
    case 2:
      return reshape(reshape(contiguous, Shape{contiguous.numel()}), shape);
    case 3:  // forward and back
      return shape.rank() < 2 ? contiguous : transpose(transpose(contiguous, 0, -1), 0, -1);
    default:
      return contiguous;
  }
}

Array exact(const Tensor& x) {
  const Tensor wide = x.detach().to(f64);
  return wide.as_xtensor<double>();
}

Array zeros_of(const Shape& shape) {
  Array result = Array::from_shape({shape.begin(), shape.end()});
  std::fill_n(result.data(), result.size(), 0.0);
  return result;
}

Shape shape_of(const Array& array) { return std::vector<int64_t>(array.shape().begin(), array.shape().end()); }

int64_t flat(const Shape& shape, const Index& index) {
  int64_t position = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis)
    position = position * shape[axis] + index[static_cast<size_t>(axis)];
  return position;
}

Index broadcast_index(const Shape& operand, const Index& index) {
  Index own(index.end() - operand.rank(), index.end());
  for (int64_t axis = 0; axis < operand.rank(); ++axis)
    if (operand[axis] == 1) own[static_cast<size_t>(axis)] = 0;
  return own;
}

std::vector<double> line(const Array& array, Index index, int64_t axis) {
  std::vector<double> values(array.shape()[static_cast<size_t>(axis)]);
  for (size_t i = 0; i < values.size(); ++i) {
    index[static_cast<size_t>(axis)] = static_cast<int64_t>(i);
    values[i] = at(array, index);
  }
  return values;
}

std::vector<Property> all_properties() {
  std::vector<Property> all;
  add_elementwise(all);
  add_functions(all);
  add_comparisons(all);
  add_reductions(all);
  add_scans(all);
  add_rows(all);
  add_losses(all);
  add_vector_losses(all);
  add_arrangements(all);
  add_joins(all);
  add_indexed_reads(all);
  add_indexed_writes(all);
  add_products(all);
  add_attention(all);
  add_factorizations(all);
  add_matrix_functions(all);
  add_windows(all);
  add_channels(all);
  return all;
}

}  // namespace tape::properties
