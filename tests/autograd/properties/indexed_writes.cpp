// Writes at indices, and reads along diagonals, windows and masks: loops over indices.

#include <algorithm>
#include <cmath>

#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/index/indexing.h"
#include "autograd/ops/index/scatter.h"
#include "autograd/ops/shape/diagonal.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/repeat.h"
#include "tests/autograd/properties/source.h"

namespace tape::properties {
namespace {

/// A tensor with a nonempty axis, and indices that may count from its end.
struct Target {
  Target(Draw& draw, DType kind) : dtype(kind), shape(draw.shape(1)), axis(draw.axis(shape)) {
    front = axis < 0 ? axis + shape.rank() : axis;
    if (shape[front] == 0) shape = shape.with(front, 2);
    x = any_values(draw, shape, dtype);
  }
  int64_t place(double position) const {
    const int64_t place = static_cast<int64_t>(position);
    return place < 0 ? place + shape[front] : place;
  }
  Tensor positions(Draw& draw, const Shape& of) const { return draw.whole(of, i64, -shape[front], shape[front] - 1); }
  DType dtype;
  Shape shape;
  int64_t axis, front = 0;
  Tensor x = {};
};

Case draw_scatter(Draw& draw) {
  const Target to(draw, any_dtype(draw));
  const Shape part = to.shape.with(to.front, draw.size());
  const Tensor positions = to.positions(draw, part), source = any_values(draw, part, to.dtype);
  const Array places = exact(positions), values = exact(source);
  Array expected = exact(to.x);
  for (int64_t i = 0; i < part.numel(); ++i) {
    Index index = part.unravel(i);
    index[static_cast<size_t>(to.front)] = to.place(places.data()[i]);
    expected.data()[flat(to.shape, index)] = values.data()[i];
  }
  return {.inputs = {to.x, source},
          .call = [positions, axis = to.axis](const Tensors& in) { return scatter(in[0], axis, positions, in[1]); },
          .expected = expected,
          .dtype = to.dtype,
          .length = 0};
}
Case draw_index_copy(Draw& draw) {
  const Target to(draw, any_dtype(draw));
  const Tensor positions = to.positions(draw, {draw.size()});
  const Shape part = to.shape.with(to.front, positions.numel());
  const Tensor source = any_values(draw, part, to.dtype);
  const Array places = exact(positions), values = exact(source);
  Array expected = exact(to.x);
  for (int64_t i = 0; i < part.numel(); ++i) {
    Index index = part.unravel(i);
    int64_t& place = index[static_cast<size_t>(to.front)];
    place = to.place(places.data()[place]);
    expected.data()[flat(to.shape, index)] = values.data()[i];
  }
  return {.inputs = {to.x, source},
          .call = [positions, axis = to.axis](const Tensors& in) { return index_copy(in[0], axis, positions, in[1]); },
          .expected = expected,
          .dtype = to.dtype,
          .length = 0};
}
Case draw_scatter_reduce(Draw& draw) {
  const Reduce reduce = draw.one_of({Reduce::sum, Reduce::mean, Reduce::prod, Reduce::amax, Reduce::amin});
  const bool self = draw.chance(0.5);
  Target to(draw, draw.floating());
  to.x = draw.distinct(to.shape, to.dtype);
  const Shape part = to.shape.with(to.front, draw.size());
  const Tensor positions = to.positions(draw, part), source = draw.distinct(part, to.dtype, 1);
  const Array places = exact(positions), values = exact(source), own = exact(to.x);
  std::vector<std::vector<double>> all(own.size());
  for (int64_t i = 0; i < part.numel(); ++i) {
    Index index = part.unravel(i);
    index[static_cast<size_t>(to.front)] = to.place(places.data()[i]);
    all[static_cast<size_t>(flat(to.shape, index))].push_back(values.data()[i]);
  }
  Array expected = own, magnitude = own;
  for (size_t i = 0; i < all.size(); ++i) {
    if (self || all[i].empty()) all[i].insert(all[i].begin(), own.data()[i]);
    double sum = 0, size = 0, product = 1;
    for (const double v : all[i]) sum += v, size += std::abs(v), product *= v;
    const double n = static_cast<double>(all[i].size());
    if (reduce == Reduce::mean) sum /= n, size /= n;
    const bool added = reduce == Reduce::sum || reduce == Reduce::mean;
    expected.data()[i] = added                    ? sum
                         : reduce == Reduce::prod ? product
                         : reduce == Reduce::amax ? *std::max_element(all[i].begin(), all[i].end())
                                                  : *std::min_element(all[i].begin(), all[i].end());
    magnitude.data()[i] = added ? size : std::abs(expected.data()[i]);
  }
  return {.inputs = {to.x, source},
          .call =
              [=, axis = to.axis](const Tensors& in) {
                return scatter_reduce(in[0], axis, positions, in[1], reduce, {.include_self = self});
              },
          .expected = expected,
          .dtype = to.dtype,
          .magnitude = magnitude,
          .length = 1 + part[to.front]};
}

Case draw_diagonal(Draw& draw) {
  const Source from(draw, 2);
  const int64_t rank = from.shape.rank(), a = draw.between(0, rank - 1), b = (a + draw.between(1, rank - 1)) % rank;
  const int64_t offset = draw.between(-2, 2), rows = from.shape[a], cols = from.shape[b];
  int64_t length = 0;
  while (length + std::max<int64_t>(0, -offset) < rows && length + std::max<int64_t>(0, offset) < cols) ++length;
  const Shape batch = from.shape.removed(std::max(a, b)).removed(std::min(a, b));
  return from.case_of([=](const Tensors& in) { return diagonal(in[0], offset, a, b); },
                      build(batch.inserted(batch.rank(), length), [&](Index index) {
                        const int64_t i = index.back();
                        index.pop_back();
                        const auto insert = [&](int64_t axis) {
                          index.insert(index.begin() + axis, i + std::max<int64_t>(0, axis == a ? -offset : offset));
                        };
                        insert(std::min(a, b));
                        insert(std::max(a, b));
                        return at(from.values, index);
                      }));
}
Case draw_diag_embed(Draw& draw) {
  const Source from(draw, 1, 3);
  const int64_t rank = from.shape.rank() + 1, a = draw.between(0, rank - 1), b = (a + draw.between(1, rank - 1)) % rank;
  const int64_t offset = draw.between(-2, 2), last = from.shape.rank() - 1, size = from.shape[last] + std::abs(offset);
  const Shape whole = from.shape.removed(last).inserted(std::min(a, b), size).inserted(std::max(a, b), size);
  return from.case_of([=](const Tensors& in) { return diag_embed(in[0], offset, a, b); },
                      build(whole, [&](Index index) {
                        const int64_t row = index[static_cast<size_t>(a)], col = index[static_cast<size_t>(b)];
                        if (col - row != offset) return 0.0;
                        index.erase(index.begin() + std::max(a, b));
                        index.erase(index.begin() + std::min(a, b));
                        index.push_back(std::min(row, col));
                        return at(from.values, index);
                      }));
}
Case draw_unfold(Draw& draw) {
  const Source from(draw, 1, 3);
  const int64_t size = draw.between(0, std::min<int64_t>(4, from.size())), step = draw.between(1, 3);
  const Shape shape = from.shape.with(static_cast<int64_t>(from.front), (from.size() - size) / step + 1);
  return from.case_of([=, axis = from.axis](const Tensors& in) { return unfold(in[0], axis, size, step); },
                      build(shape.inserted(shape.rank(), size), [&](Index index) {
                        const int64_t inside = index.back();
                        index.pop_back();
                        index[from.front] = index[from.front] * step + inside;
                        return at(from.values, index);
                      }));
}
Case draw_put_slice(Draw& draw) {
  const Source to(draw, 1);
  const int64_t count = draw.between(0, to.size()), start = draw.between(0, to.size() - count);
  const Tensor part = any_values(draw, to.shape.with(static_cast<int64_t>(to.front), count), to.dtype);
  const Array values = exact(part);
  Array expected = to.values;
  for (int64_t i = 0; i < part.numel(); ++i) {
    Index index = part.shape().unravel(i);
    index[to.front] += start;
    expected.data()[flat(to.shape, index)] = values.data()[i];
  }
  Case drawn =
      to.case_of([=, axis = to.axis](const Tensors& in) { return put_slice(in[0], axis, start, in[1]); }, expected);
  drawn.inputs.push_back(part);
  return drawn;
}

Case draw_masked_select(Draw& draw) {
  const Source from(draw);
  const Tensor mask = draw.whole(draw.part_of(from.shape), boolean, 0, 1);
  const Array flags = exact(mask);
  std::vector<double> chosen;
  for (int64_t i = 0; i < from.shape.numel(); ++i)
    if (at(flags, broadcast_index(mask.shape(), from.shape.unravel(i))) != 0) chosen.push_back(from.values.data()[i]);
  const Array expected = build({static_cast<int64_t>(chosen.size())},
                               [&](const Index& index) { return chosen[static_cast<size_t>(index[0])]; });
  return from.case_of([mask](const Tensors& in) { return masked_select(in[0], mask); }, expected);
}
/// x[start : end : step, ids, ...]
Case draw_index(Draw& draw) {
  const Source from(draw, 2);
  if (from.shape[1] == 0) return draw_masked_select(draw);
  const int64_t start = draw.between(0, from.shape[0]), step = draw.between(1, 3);
  const Tensor ids = draw.whole({draw.size()}, i64, -from.shape[1], from.shape[1] - 1);
  const Array places = exact(ids);
  const int64_t count = (from.shape[0] - start + step - 1) / step;
  return from.case_of(
      [=](const Tensors& in) {
        return index(in[0], {SliceOptions{.start = start, .step = step}, ids});
      },
      build(from.shape.with(0, count).with(1, ids.numel()), [&](Index index) {
        index[0] = start + index[0] * step;
        index[1] = static_cast<int64_t>(places.data()[index[1]]);
        if (index[1] < 0) index[1] += from.shape[1];
        return at(from.values, index);
      }));
}
Case draw_repeat_interleave(Draw& draw) {
  const Source from(draw, 1, 3);
  const int64_t count = draw.between(0, 3);
  return from.case_of([=, axis = from.axis](const Tensors& in) { return repeat_interleave(in[0], count, axis); },
                      build(from.shape.with(static_cast<int64_t>(from.front), from.size() * count), [&](Index index) {
                        index[from.front] /= count;
                        return at(from.values, index);
                      }));
}

}  // namespace

void add_indexed_writes(std::vector<Property>& all) {
  all.insert(all.end(), {{"scatter", "scatter", draw_scatter},
                         {"index_copy", "index_copy", draw_index_copy},
                         {"scatter_reduce", "scatter_reduce", draw_scatter_reduce},
                         {"diagonal", "diagonal", draw_diagonal},
                         {"diag_embed", "diag_embed", draw_diag_embed},
                         {"unfold", "unfold", draw_unfold},
                         {"put_slice", "put_slice", draw_put_slice},
                         {"masked_select", "index_select", draw_masked_select},
                         {"index", "index_select", draw_index},
                         {"repeat_interleave", "expand", draw_repeat_interleave}});
}

}  // namespace tape::properties
