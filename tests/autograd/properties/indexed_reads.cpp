// Reads, accumulation and ordering at indices: loops over indices.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/create.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/order.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// A tensor with at least one axis, which is not empty.
struct Table {
  explicit Table(Draw& draw, DType kind) : dtype(kind), shape(draw.shape(1)), axis(draw.axis(shape)) {
    front = axis < 0 ? axis + shape.rank() : axis;
    if (shape[front] == 0) shape = shape.with(front, 2);
    x = is_floating(dtype) ? draw.values(shape, dtype)
                           : draw.whole(shape, dtype, dtype == boolean ? 0 : -9, dtype == boolean ? 1 : 9);
    values = exact(x);
  }
  int64_t size() const { return shape[front]; }
  DType dtype;
  Shape shape;
  int64_t axis, front = 0;
  Tensor x = {};
  Array values = {};
};

DType readable(Draw& draw) { return draw.one_of({f32, f32, f64, i64, boolean}); }

Case draw_gather(Draw& draw) {
  const Table from(draw, readable(draw));
  const Tensor positions = draw.whole(from.shape.with(from.front, draw.size()), i64, 0, from.size() - 1);
  const Array index_of = exact(positions);
  const Array expected = build(positions.shape(), [&](Index index) {
    index[static_cast<size_t>(from.front)] = static_cast<int64_t>(at(index_of, index));
    return at(from.values, index);
  });
  return {.inputs = {from.x},
          .call = [positions, axis = from.axis](const Tensors& in) { return gather(in[0], axis, positions); },
          .expected = expected,
          .dtype = from.dtype,
          .length = 0};
}
Case draw_index_select(Draw& draw) {
  const Table from(draw, readable(draw));
  const Tensor positions = draw.whole({draw.size()}, i64, 0, from.size() - 1);
  const Array index_of = exact(positions);
  const Array expected = build(from.shape.with(from.front, positions.numel()), [&](Index index) {
    int64_t& place = index[static_cast<size_t>(from.front)];
    place = static_cast<int64_t>(index_of.data()[place]);
    return at(from.values, index);
  });
  return {.inputs = {from.x},
          .call = [positions, axis = from.axis](const Tensors& in) { return index_select(in[0], axis, positions); },
          .expected = expected,
          .dtype = from.dtype,
          .length = 0};
}

/// x with the source's values added at `place(index)`.
template <class Place>
Case added(Draw& draw, const Table& from, const Shape& source_shape, const Place& place,
           std::function<Tensor(const Tensors&)> call) {
  const Tensor source = draw.values(source_shape, from.dtype);
  const Array values = exact(source);
  Case drawn{.inputs = {from.x, source}, .call = std::move(call), .expected = from.values, .dtype = from.dtype};
  Array magnitude = xt::abs(from.values);
  for (int64_t i = 0; i < source_shape.numel(); ++i) {
    Index index = source_shape.unravel(i);
    index[static_cast<size_t>(from.front)] = place(index);
    const int64_t to = flat(from.shape, index);
    drawn.expected.data()[to] += values.data()[i];
    magnitude.data()[to] += std::abs(values.data()[i]);
  }
  drawn.magnitude = magnitude;
  drawn.length = 1 + source_shape[from.front];
  return drawn;
}
Case draw_scatter_add(Draw& draw) {
  const Table from(draw, draw.floating());
  const Shape shape = from.shape.with(from.front, draw.size());
  const Tensor positions = draw.whole(shape, i64, 0, from.size() - 1);
  const Array index_of = exact(positions);
  return added(
      draw, from, shape, [&](const Index& index) { return static_cast<int64_t>(at(index_of, index)); },
      [positions, axis = from.axis](const Tensors& in) { return scatter_add(in[0], axis, positions, in[1]); });
}
Case draw_index_add(Draw& draw) {
  const Table from(draw, draw.floating());
  const Tensor positions = draw.whole({draw.size()}, i64, 0, from.size() - 1);
  const Array index_of = exact(positions);
  return added(
      draw, from, from.shape.with(from.front, positions.numel()),
      [&](const Index& index) { return static_cast<int64_t>(index_of.data()[index[static_cast<size_t>(from.front)]]); },
      [positions, axis = from.axis](const Tensors& in) { return index_add(in[0], axis, positions, in[1]); });
}

Case draw_embedding(Draw& draw) {
  const DType dtype = draw.floating();
  const int64_t rows = draw.between(1, 9), width = draw.size();
  const Tensor weight = draw.values({rows, width}, dtype), ids = draw.whole(draw.shape(0, 3), i64, 0, rows - 1);
  const Array table = exact(weight), chosen = exact(ids);
  const Array expected = build(ids.shape().inserted(ids.rank(), width), [&](Index index) {
    const int64_t column = index.back();
    index.pop_back();
    return at(table, {static_cast<int64_t>(at(chosen, index)), column});
  });
  return {.inputs = {weight},
          .call = [ids](const Tensors& in) { return embedding(in[0], ids); },
          .expected = expected,
          .dtype = dtype,
          .length = 0};
}
Case draw_one_hot(Draw& draw) {
  const int64_t classes = draw.between(1, 6);
  const DType dtype = draw.one_of({f32, f64, i64});
  const Tensor ids = draw.whole(draw.shape(0, 3), i64, 0, classes - 1);
  const Array chosen = exact(ids);
  const Array expected = build(ids.shape().inserted(ids.rank(), classes), [&](Index index) {
    const int64_t column = index.back();
    index.pop_back();
    return at(chosen, index) == static_cast<double>(column) ? 1.0 : 0.0;
  });
  return {.inputs = {ids},
          .call = [=](const Tensors& in) { return one_hot(in[0], classes, dtype); },
          .expected = expected,
          .dtype = dtype,
          .length = 0};
}

/// Stable order of the values along an axis: indices of the first `count` of each line.
Array ordered_positions(const Array& values, int64_t axis, int64_t count, bool descending) {
  return build(shape_of(values).with(axis, count), [&](const Index& index) {
    Index begin = index;
    begin[static_cast<size_t>(axis)] = 0;
    const std::vector<double> all = line(values, begin, axis);
    std::vector<size_t> order(all.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return descending ? all[a] > all[b] : all[a] < all[b]; });
    return static_cast<double>(order[static_cast<size_t>(index[static_cast<size_t>(axis)])]);
  });
}
Array values_at(const Array& values, int64_t axis, const Array& positions) {
  return build(shape_of(positions), [&](Index index) {
    index[static_cast<size_t>(axis)] = static_cast<int64_t>(at(positions, index));
    return at(values, index);
  });
}

/// Along an axis, with ties if the indices are returned.
Case order(Draw& draw, bool positions, bool all) {
  const DType dtype = draw.floating();
  const Shape shape = draw.shape(1);
  const int64_t axis = draw.axis(shape), front = axis < 0 ? axis + shape.rank() : axis;
  const Tensor x = positions ? draw.whole(shape, dtype, -3, 3) : draw.distinct(shape, dtype);
  const int64_t count = all ? shape[front] : draw.between(0, shape[front]);
  const bool descending = draw.chance(0.5);
  const Array values = exact(x), places = ordered_positions(values, front, count, descending);
  return {.inputs = {x},
          .call =
              [=](const Tensors& in) {
                const TopK best = all ? sort(in[0], axis, {.descending = descending})
                                      : topk(in[0], count, axis, {.largest = descending});
                return positions ? best.indices : best.values;
              },
          .expected = positions ? places : values_at(values, front, places),
          .dtype = positions ? i64 : dtype,
          .length = 0};
}
Case draw_sort(Draw& draw) { return order(draw, false, true); }
Case draw_sort_positions(Draw& draw) { return order(draw, true, true); }
Case draw_topk(Draw& draw) { return order(draw, false, false); }
Case draw_topk_positions(Draw& draw) { return order(draw, true, false); }

/// Which elements survive is determined by Philox and tested in random.cpp; this tests that they are scaled and the
/// others are 0.
Case draw_dropout(Draw& draw) {
  const DType dtype = draw.floating();
  const double p = draw.one_of({0.1, 0.5, 0.75});
  const uint64_t seed = static_cast<uint64_t>(draw.between(0, 99)),
                 counter = static_cast<uint64_t>(draw.between(0, 99));
  const Tensor x = draw.values(draw.shape(), dtype);
  const Array values = exact(x), kept = exact(seeded_dropout(ones(x.shape(), f64), p, seed, counter));
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return seeded_dropout(in[0], p, seed, counter); },
          .expected = build(
              x.shape(), [&](const Index& index) { return at(kept, index) == 0 ? 0.0 : at(values, index) / (1 - p); }),
          .dtype = dtype};
}

}  // namespace

void add_indexed_reads(std::vector<Property>& all) {
  all.insert(all.end(), {{"gather", "gather", draw_gather},
                         {"index_select", "index_select", draw_index_select},
                         {"scatter_add", "scatter_add", draw_scatter_add},
                         {"index_add", "index_add", draw_index_add},
                         {"embedding", "embedding", draw_embedding},
                         {"one_hot", nullptr, draw_one_hot},
                         {"sort", "sort", draw_sort},
                         {"sort_positions", nullptr, draw_sort_positions},
                         {"topk", "topk", draw_topk},
                         {"topk_positions", nullptr, draw_topk_positions},
                         {"dropout", "dropout", draw_dropout}});
}

}  // namespace tape::properties
