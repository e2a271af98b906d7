// Operations that move values without computing: xtensor's transpose, flip and roll, otherwise loops over indices.
// Every dtype.

#include <algorithm>
#include <numeric>

#include <xtensor/xmanipulation.hpp>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "tests/autograd/properties/source.h"

namespace tape::properties {
namespace {

/// The same values in order, with another shape.
Array in_shape(Array values, const Shape& shape) {
  values.reshape(std::vector<size_t>(shape.begin(), shape.end()));
  return values;
}

Case draw_clone(Draw& draw) {
  const Source from(draw);
  return from.case_of([](const Tensors& in) { return clone(in[0]); }, from.values);
}
Case draw_alias(Draw& draw) {
  const Source from(draw);
  return from.case_of([](const Tensors& in) { return alias(in[0]); }, from.values);
}
Case draw_reshape(Draw& draw) {
  const Source from(draw);
  std::vector<int64_t> sizes = from.shape.to_vector();
  for (int64_t i = draw.between(0, 2); i > 0; --i) sizes.insert(sizes.begin() + draw.between(0, std::ssize(sizes)), 1);
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (!draw.chance(0.3)) continue;
    sizes[i] *= sizes[i - 1];
    sizes.erase(sizes.begin() + static_cast<int64_t>(i) - 1);
  }
  std::shuffle(sizes.begin(), sizes.end(), std::mt19937_64(1));
  const Shape whole(sizes);
  if (whole.numel() > 0 && !sizes.empty() && draw.chance(0.4))
    sizes[static_cast<size_t>(draw.between(0, std::ssize(sizes) - 1))] = -1;
  return from.case_of([sizes](const Tensors& in) { return reshape(in[0], sizes); }, in_shape(from.values, whole));
}
Case draw_flatten(Draw& draw) {
  const Source from(draw, 1);
  const int64_t rank = from.shape.rank(), first = draw.between(0, rank - 1), last = draw.between(first, rank - 1);
  std::vector<int64_t> sizes = from.shape.to_vector();
  const auto begin = sizes.begin() + first, end = sizes.begin() + last + 1;
  *begin = std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
  sizes.erase(begin + 1, end);
  return from.case_of([=](const Tensors& in) { return flatten(in[0], first, last - rank); },
                      in_shape(from.values, sizes));
}
Case draw_squeeze(Draw& draw) {
  const Source from(draw);
  std::vector<int64_t> sizes = from.shape.to_vector();
  std::erase(sizes, 1);
  return from.case_of([](const Tensors& in) { return squeeze(in[0]); }, in_shape(from.values, sizes));
}
Case draw_unsqueeze(Draw& draw) {
  const Source from(draw);
  const int64_t axis = draw.between(-from.shape.rank() - 1, from.shape.rank());
  const Shape shape = from.shape.inserted(axis < 0 ? axis + from.shape.rank() + 1 : axis, 1);
  return from.case_of([axis](const Tensors& in) { return unsqueeze(in[0], axis); }, in_shape(from.values, shape));
}
Case draw_permute(Draw& draw) {
  const Source from(draw, 1);
  std::vector<int64_t> order(static_cast<size_t>(from.shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(draw.between(0, static_cast<int64_t>(i) - 1))]);
  return from.case_of([order](const Tensors& in) { return permute(in[0], order); },
                      xt::transpose(from.values, std::vector<size_t>(order.begin(), order.end())));
}
Case draw_transpose(Draw& draw) {
  const Source from(draw, 2);
  const int64_t a = draw.axis(from.shape), rank = from.shape.rank();
  std::vector<size_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), size_t{0});
  std::swap(order[from.front], order[static_cast<size_t>(a < 0 ? a + rank : a)]);
  return from.case_of([a, b = from.axis](const Tensors& in) { return transpose(in[0], a, b); },
                      xt::transpose(from.values, order));
}
Case draw_expand(Draw& draw) {
  const Shape whole = draw.shape(), part = draw.part_of(whole);
  const DType dtype = any_dtype(draw);
  const Tensor x = any_values(draw, part, dtype);
  const Array values = exact(x);
  std::vector<int64_t> sizes = whole.to_vector();
  for (int64_t axis = whole.rank() - part.rank(); axis < whole.rank(); ++axis)
    if (part[axis - whole.rank() + part.rank()] == whole[axis] && draw.chance(0.3))
      sizes[static_cast<size_t>(axis)] = -1;
  return {.inputs = {x},
          .call = [sizes](const Tensors& in) { return expand(in[0], sizes); },
          .expected = build(whole, [&](const Index& index) { return at(values, broadcast_index(part, index)); }),
          .dtype = dtype,
          .length = 0};
}
Case draw_select(Draw& draw) {
  Source from(draw, 1);
  if (from.size() == 0) return draw_clone(draw);
  const int64_t position = draw.between(-from.size(), from.size() - 1);
  const int64_t meant = position < 0 ? position + from.size() : position;
  const Array expected = build(from.shape.removed(static_cast<int64_t>(from.front)), [&](Index index) {
    index.insert(index.begin() + static_cast<int64_t>(from.front), meant);
    return at(from.values, index);
  });
  return from.case_of([=, axis = from.axis](const Tensors& in) { return select(in[0], axis, position); }, expected);
}

/// A slice with Python semantics.
struct Slice {
  Slice(Draw& draw, int64_t size) {
    options = {.start = draw.between(-size - 2, size + 2),
               .end = draw.between(-size - 2, size + 2),
               .step = draw.between(1, 3)};
    if (draw.chance(0.2)) options.end = INT64_MAX;
    const auto clipped = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    for (int64_t i = clipped(options.start); i < clipped(options.end); i += options.step) positions.push_back(i);
  }
  SliceOptions options;
  std::vector<int64_t> positions = {};
};

Case draw_slice(Draw& draw) {
  const Source from(draw, 1);
  const Slice part(draw, from.size());
  const Array expected =
      build(from.shape.with(static_cast<int64_t>(from.front), std::ssize(part.positions)), [&](Index index) {
        index[from.front] = part.positions[static_cast<size_t>(index[from.front])];
        return at(from.values, index);
      });
  return from.case_of([=, axis = from.axis](const Tensors& in) { return slice(in[0], axis, part.options); }, expected);
}
/// The gradient of sum(slice(x)^2): 2 x in the slice, 0 elsewhere.
Case draw_unslice(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = draw.shape(1);
  const Tensor x = draw.values(shape, dtype);
  const int64_t axis = draw.between(0, shape.rank() - 1);
  const Slice part(draw, shape[axis]);
  const Array values = exact(x);
  const Array expected = build(shape, [&](const Index& index) {
    const bool inside = std::count(part.positions.begin(), part.positions.end(), index[static_cast<size_t>(axis)]) > 0;
    return inside ? 2 * at(values, index) : 0.0;
  });
  const auto gradient = [=](const Tensors& in) {
    const EnableGrad recording;
    const Tensor leaf = in[0].requires_grad() ? in[0] : in[0].detach().requires_grad_();
    const Tensor y = slice(leaf, axis, part.options);
    return grad({sum(y * y)}, {leaf}, {.create_graph = true})[0];
  };
  return {.inputs = {x}, .call = gradient, .expected = expected, .dtype = dtype, .length = 0};
}

Case draw_flip(Draw& draw) {
  const Source from(draw, 1);
  const std::vector<int64_t> axes = draw.axes(from.shape);
  Array expected = from.values;
  for (const int64_t axis : axes)
    if (from.shape.numel() > 0)
      expected = Array(xt::flip(expected, static_cast<size_t>(axis < 0 ? axis + from.shape.rank() : axis)));
  return from.case_of([axes](const Tensors& in) { return flip(in[0], axes); }, expected);
}
Case draw_pad(Draw& draw) {
  const Source from(draw);
  const double value = from.dtype <= u8 ? 1 : -4;
  std::vector<Padding> amounts(static_cast<size_t>(draw.between(0, from.shape.rank())));
  for (Padding& amount : amounts) amount = {draw.between(0, 2), draw.between(0, 2)};
  std::vector<int64_t> sizes = from.shape.to_vector(), before(sizes.size(), 0);
  const size_t skipped = sizes.size() - amounts.size();
  for (size_t i = 0; i < amounts.size(); ++i) {
    before[skipped + i] = amounts[i].before;
    sizes[skipped + i] += amounts[i].before + amounts[i].after;
  }
  const Array expected = build(Shape(sizes), [&](Index index) {
    for (size_t i = 0; i < index.size(); ++i) {
      index[i] -= before[i];
      if (index[i] < 0 || index[i] >= from.shape[static_cast<int64_t>(i)]) return value;
    }
    return at(from.values, index);
  });
  return from.case_of([=](const Tensors& in) { return pad(in[0], amounts, value); }, expected);
}
Case triangle(Draw& draw, Tensor (*f)(const Tensor&, int64_t), bool lower) {
  const Source from(draw, 2);
  const int64_t diagonal = draw.between(-4, 4);
  const Array expected = build(from.shape, [&](const Index& index) {
    const int64_t above = index[index.size() - 1] - index[index.size() - 2];
    return (lower ? above <= diagonal : above >= diagonal) ? at(from.values, index) : 0.0;
  });
  return from.case_of([=](const Tensors& in) { return f(in[0], diagonal); }, expected);
}
Case draw_tril(Draw& draw) { return triangle(draw, tril, true); }
Case draw_triu(Draw& draw) { return triangle(draw, triu, false); }

}  // namespace

void add_arrangements(std::vector<Property>& all) {
  all.insert(all.end(), {{"clone", "clone", draw_clone},
                         {"alias", "alias", draw_alias},
                         {"reshape", "reshape", draw_reshape},
                         {"flatten", "reshape", draw_flatten},
                         {"squeeze", "reshape", draw_squeeze},
                         {"unsqueeze", "reshape", draw_unsqueeze},
                         {"permute", "permute", draw_permute},
                         {"transpose", "permute", draw_transpose},
                         {"expand", "expand", draw_expand},
                         {"select", "slice", draw_select},
                         {"slice", "slice", draw_slice},
                         {"unslice", "unslice", draw_unslice},
                         {"flip", "flip", draw_flip},
                         {"pad", "pad", draw_pad},
                         {"tril", "tril", draw_tril},
                         {"triu", "triu", draw_triu}});
}

}  // namespace tape::properties
