#include "autograd/ops/shape/diagonal.h"

#include <algorithm>
#include <cstdlib>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

const Op diagonal_op({.name = "diagonal",
                      .formula = {.forward = "y{y} = the diagonal {offset} of axes {axes} of x{0}",
                                  .backward = {"dx{x} = 0, with dy{y} on that diagonal"}}});

const Op diag_embed_op({.name = "diag_embed",
                        .formula = {.forward = "y{y} = 0, with x{0} on the diagonal {offset} of axes {axes}",
                                    .backward = {"dx{x} = the diagonal {offset} of axes {axes} of dy{y}"}}});

/// Position of a diagonal in a tensor of shape `whole`.
struct Diagonal {
  Diagonal(const Shape& whole, int64_t o, int64_t a, int64_t b) : offset(o), axis1(a), axis2(b) {
    const auto own = contiguous_strides(whole);
    const int64_t rows = whole[axis1], cols = whole[axis2];
    const int64_t length =
        offset >= 0 ? std::min(rows, cols - std::min(offset, cols)) : std::min(rows + std::max(offset, -rows), cols);
    const int64_t down = own[static_cast<size_t>(axis1)], right = own[static_cast<size_t>(axis2)];
    if (length > 0) start = offset >= 0 ? offset * right : -offset * down;
    for (int64_t i = 0; i < whole.rank(); ++i) {
      if (i == axis1 || i == axis2) continue;
      sizes.push_back(whole[i]);
      strides.push_back(own[static_cast<size_t>(i)]);
    }
    sizes.push_back(length);
    strides.push_back(down + right);
  }

  int64_t offset, axis1, axis2, start = 0;
  std::vector<int64_t> sizes = {}, strides = {};
};

std::pair<int64_t, int64_t> two_axes(const char* operation, const Shape& shape, int64_t axis1, int64_t axis2) {
  const int64_t a = shape.axis(axis1, operation), b = shape.axis(axis2, operation);
  if (a == b) raise(ErrorKind::config, "{}: axes {} and {} are the same", operation, axis1, axis2);
  return {a, b};
}

Tensor put_diagonal(const Tensor& x, const Shape& whole, const Diagonal& place);

Tensor take_diagonal(const Tensor& x, const Diagonal& from) {
  const Shape shape(from.sizes);
  const Tensor y = take_strided(x, strided(shape, from.strides), from.start, shape);
  return record(
      diagonal_op, {x}, y, {},
      [whole = x.shape(), from](const BackwardContext& c) -> Tensors { return {put_diagonal(c.grad(), whole, from)}; },
      {{"offset", from.offset}, {"axes", std::vector<int64_t>{from.axis1, from.axis2}}});
}

Tensor put_diagonal(const Tensor& x, const Shape& whole, const Diagonal& place) {
  Tensor y = zeros(whole, x.options());
  put_strided(x, strided(x.shape(), place.strides), place.start, y);
  return record(diag_embed_op, {x}, y, {},
                [place](const BackwardContext& c) -> Tensors { return {take_diagonal(c.grad(), place)}; },
                {{"offset", place.offset}, {"axes", std::vector<int64_t>{place.axis1, place.axis2}}});
}

const Op unfold_op({.name = "unfold",
                    .formula = {.forward = "y{y} = windows of {size} along axis {axis} of x{0}, {step} apart",
                                .backward = {"dx{x} = 0, plus each element of dy{y} at the position it was taken "
                                             "from"}}});

/// Sums windows at the positions they were taken from.
Tensor fold_windows(const Tensor& windows, const Shape& whole, int64_t axis, int64_t step) {
  const int64_t count = windows.shape()[axis], size = windows.size(-1);
  Tensor along = reshape(movedim(windows, -1, axis + 1), whole.with(axis, count * size));
  if (step == size && count * size == whole[axis]) return along;  // adjacent windows: nothing to add
  const TensorOptions integer(i64, windows.device());
  const Tensor starts = reshape(arange(count, integer) * step, {count, 1});
  const Tensor positions = reshape(starts + arange(size, integer), {count * size});
  return index_add(zeros(whole, windows.options()), axis, positions, along);
}

}  // namespace

Tensor diagonal(const Tensor& x, int64_t offset, int64_t axis1, int64_t axis2) {
  const auto [a, b] = two_axes("diagonal", x.shape(), axis1, axis2);
  return take_diagonal(x, Diagonal(x.shape(), offset, a, b));
}

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t axis1, int64_t axis2) {
  if (x.rank() == 0) raise(ErrorKind::shape, "diag_embed: x needs at least one axis, got []");
  const Shape batch = x.shape().removed(x.rank() - 1);
  const auto [a, b] = two_axes("diag_embed", x.shape().inserted(0, 1), axis1, axis2);
  const int64_t size = checked_add(x.size(-1), std::abs(std::max(offset, -INT64_MAX)), "diag_embed");
  const Shape whole = batch.inserted(std::min(a, b), size).inserted(std::max(a, b), size);
  return put_diagonal(x, whole, Diagonal(whole, offset, a, b));
}

Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step) {
  axis = x.shape().axis(axis, "unfold");
  const int64_t length = x.shape()[axis];
  if (size < 0 || size > length)
    raise(ErrorKind::config, "unfold: the size {} is outside 0 .. {} (axis {} of {})", size, length, axis,
          to_string(x.shape()));
  if (step < 1) raise(ErrorKind::config, "unfold: the step must be at least 1, got {}", step);
  const Shape shape = x.shape().with(axis, (length - size) / step + 1).inserted(x.rank(), size);
  auto strides = contiguous_strides(x.shape());
  strides[static_cast<size_t>(x.rank())] = strides[static_cast<size_t>(axis)];
  strides[static_cast<size_t>(axis)] *= std::min(step, length);  // a step past the end is never taken
  return record(unfold_op, {x}, take_strided(x, strided(shape, strides), 0, shape), {},
                [whole = x.shape(), axis, step](const BackwardContext& c) -> Tensors {
                  return {fold_windows(c.grad(), whole, axis, step)};
                },
                {{"axis", axis}, {"size", size}, {"step", step}});
}

}  // namespace tape
