// Joining and splitting tensors: loops over indices. Every dtype.

#include <algorithm>

#include "autograd/ops/shape/join.h"
#include "tests/autograd/properties/source.h"

namespace tape::properties {
namespace {

Case draw_cat(Draw& draw) {
  const Source from(draw, 1);
  const int64_t front = static_cast<int64_t>(from.front);
  Tensors parts{from.x};
  for (int64_t n = draw.between(0, 2); n > 0; --n)
    parts.push_back(draw.chance(0.2) ? from.x : any_values(draw, from.shape.with(front, draw.size()), from.dtype));
  int64_t total = 0;
  for (const Tensor& part : parts) total += part.shape()[front];
  Array expected = zeros_of(from.shape.with(front, total));
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    const Array values = exact(part);
    for (int64_t i = 0; i < part.numel(); ++i) {
      Index index = part.shape().unravel(i);
      index[from.front] += begin;
      expected.data()[flat(shape_of(expected), index)] = values.data()[i];
    }
    begin += part.shape()[front];
  }
  return {.inputs = parts,
          .call = [axis = from.axis](const Tensors& in) { return cat(in, axis); },
          .expected = expected,
          .dtype = from.dtype,
          .length = 0};
}
Case draw_stack(Draw& draw) {
  const Source from(draw, 0, 3);
  const int64_t axis = draw.between(0, from.shape.rank());
  Tensors parts{from.x};
  std::vector<Array> values{from.values};
  for (int64_t n = draw.between(0, 2); n > 0; --n) {
    parts.push_back(any_values(draw, from.shape, from.dtype));
    values.push_back(exact(parts.back()));
  }
  const Array expected = build(from.shape.inserted(axis, std::ssize(parts)), [&](Index index) {
    const Array& part = values[static_cast<size_t>(index[static_cast<size_t>(axis)])];
    index.erase(index.begin() + axis);
    return at(part, index);
  });
  return {.inputs = parts,
          .call = [axis](const Tensors& in) { return stack(in, axis); },
          .expected = expected,
          .dtype = from.dtype,
          .length = 0};
}
/// Splits into pieces of two sizes and returns one of them.
Case draw_split(Draw& draw) {
  const Source from(draw, 1);
  const int64_t first = draw.between(0, from.size()), chosen = draw.between(0, 1);
  const std::vector<int64_t> sizes{first, from.size() - first};
  const Array expected =
      build(from.shape.with(static_cast<int64_t>(from.front), sizes[static_cast<size_t>(chosen)]), [&](Index index) {
        index[from.front] += chosen * first;
        return at(from.values, index);
      });
  return from.case_of(
      [=, axis = from.axis](const Tensors& in) { return split(in[0], sizes, axis)[static_cast<size_t>(chosen)]; },
      expected);
}
Case draw_repeat(Draw& draw) {
  const Source from(draw, 0, 3);
  std::vector<int64_t> counts(static_cast<size_t>(draw.between(0, 4)));
  for (int64_t& count : counts) count = draw.between(0, 3);
  const int64_t rank = std::max(from.shape.rank(), std::ssize(counts));
  std::vector<int64_t> sizes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t in_shape = axis - rank + from.shape.rank(), in_counts = axis - rank + std::ssize(counts);
    sizes.push_back((in_shape < 0 ? 1 : from.shape[in_shape]) *
                    (in_counts < 0 ? 1 : counts[static_cast<size_t>(in_counts)]));
  }
  const Array expected = build(Shape(sizes), [&](const Index& index) {
    Index inner(index.end() - from.shape.rank(), index.end());
    for (size_t i = 0; i < inner.size(); ++i) inner[i] %= from.shape[static_cast<int64_t>(i)];
    return at(from.values, inner);
  });
  return from.case_of([counts](const Tensors& in) { return repeat(in[0], counts); }, expected);
}
Case draw_roll(Draw& draw) {
  const Source from(draw, 1);
  const int64_t shift = draw.between(-7, 7), size = from.size();
  const Array expected = build(from.shape, [&](Index index) {
    int64_t& place = index[from.front];
    place = ((place - shift) % size + size) % size;
    return at(from.values, index);
  });
  return from.case_of([=, axis = from.axis](const Tensors& in) { return roll(in[0], shift, axis); }, expected);
}
}  // namespace

void add_joins(std::vector<Property>& all) {
  all.insert(all.end(), {{"cat", "cat", draw_cat},
                         {"stack", "cat", draw_stack},
                         {"split", "split", draw_split},
                         {"repeat", "reshape", draw_repeat},
                         {"roll", "roll", draw_roll}});
}

}  // namespace tape::properties
