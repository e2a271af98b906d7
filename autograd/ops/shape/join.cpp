#include "autograd/ops/shape/join.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/kernels/shape/common/copy.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

const Op cat_op({.name = "cat",
                 .formula = {.forward = "y{y} = the inputs concatenated along axis {axis}",
                             .backward = {"dx{i}{x} = the part of dy{y} that input {i} became"}}});

const Op split_op({.name = "split",
                   .formula = {.forward = "y{y}, … = x{0} split into pieces of {sizes} along axis {axis}",
                               .backward = {"dx{x} = the gradients of the pieces concatenated"}}});

/// Layout of `width` positions of the axis of a tensor [outer, size, inner].
kernels::Strided part_of_rows(const Extents& whole, int64_t width) {
  return {.rank = 2, .sizes = {whole.outer, width * whole.inner}, .strides = {whole.size * whole.inner, 1}};
}

/// Copies `source`, `width` positions of the axis, to `target` [outer, size, inner] starting at position `start`.
void copy_part(const Tensor& source, int64_t width, int64_t start, const Extents& target, Tensor& y) {
  put_strided(source, part_of_rows(target, width), start * target.inner, y);
}

const Op put_slice_op({.name = "put_slice",
                       .formula = {.forward = "y{y} = x{0}, with part{1} at {start} .. {end} of axis {axis}",
                                   .backward = {"dx = dy, 0 there", "dpart{x} = dy{y} at {start} .. {end}"}}});

const Op roll_op({.name = "roll",
                  .formula = {
                      .forward = "y{y} = x{0}, each element moved by {shift} along axis {axis}, the last ones to the "
                                 "front",
                      .backward = {"dx{x} = dy{y}, each element moved back by {shift}"}}});

/// Casts the tensors to their promoted dtype.
Tensors promote_all(const Tensors& tensors) {
  Tensors same = tensors;
  if (tensors.empty()) return same;
  DType dtype = tensors[0].dtype();
  for (const Tensor& x : tensors) dtype = promote_types(dtype, x.dtype());
  for (Tensor& x : same) x = cast(x, dtype);
  return same;
}

void check_part(const char* operation, const Tensor& x, int64_t axis, int64_t start, const Tensor& part) {
  check_same_dtype(operation, x, part);
  if (part.rank() != x.rank() || part.shape().with(axis, 0) != x.shape().with(axis, 0))
    raise(ErrorKind::shape, "{}: sizes differ outside axis {}: x {} and part {}", operation, axis, to_string(x.shape()),
          to_string(part.shape()));
  const int64_t end = checked_add(start, part.size(axis), operation);
  if (start < 0 || end > x.size(axis))
    raise(ErrorKind::index, "{}: positions {} to {} are outside axis {} of {}", operation, start,
          start + std::max<int64_t>(part.size(axis) - 1, 0), axis, to_string(x.shape()));
}

std::string pieces_text(const std::vector<int64_t>& sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

}  // namespace

Tensor cat(const Tensors& given, int64_t axis) {
  const Tensors tensors = promote_all(given);
  if (tensors.empty()) raise(ErrorKind::config, "cat: needs at least one tensor");
  const Shape& first = tensors[0].shape();
  axis = first.axis(axis, "cat");
  int64_t total = 0;
  std::vector<int64_t> sizes;
  for (const Tensor& x : tensors) {
    if (x.rank() != first.rank() || x.shape().with(axis, 0) != first.with(axis, 0))
      raise(ErrorKind::shape, "cat: sizes differ outside axis {}: {} and {}", axis, to_string(first),
            to_string(x.shape()));
    sizes.push_back(x.shape()[axis]);
    total += sizes.back();
  }
  Tensor y = empty(first.with(axis, total), tensors[0].options());
  const Extents whole(y.shape(), axis);
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); start += sizes[i++]) copy_part(tensors[i], sizes[i], start, whole, y);
  return record(cat_op, tensors, y, {},
                [axis, sizes](const BackwardContext& c) {
                  Tensors dx(sizes.size());
                  int64_t from = 0;
                  for (size_t i = 0; i < sizes.size(); from += sizes[i++])
                    if (c.needs(i)) dx[i] = slice(c.grad(), axis, {.start = from, .end = from + sizes[i]});
                  return dx;
                },
                {{"axis", axis}});
}

void put_slice_(Tensor& x, int64_t axis, int64_t start, const Tensor& part) {
  axis = x.shape().axis(axis, "put_slice_");
  check_part("put_slice_", x, axis, start, part);
  if (grad_enabled() && (x.requires_grad() || part.requires_grad()))
    raise(ErrorKind::graph, "put_slice_: gradients do not flow through it; use put_slice");
  x.impl().storage->bump_version();
  copy_part(part, part.size(axis), start, Extents(x.shape(), axis), x);
}

Tensor put_slice(const Tensor& x, int64_t axis, int64_t start, const Tensor& part) {
  axis = x.shape().axis(axis, "put_slice");
  check_part("put_slice", x, axis, start, part);
  const int64_t count = part.size(axis);
  Tensor y = x.detach().clone();
  copy_part(part, count, start, Extents(x.shape(), axis), y);
  return record(put_slice_op, {x, part}, y, {},
                [=, shape = part.shape()](const BackwardContext& c) -> Tensors {
                  const Tensor dy = c.grad();
                  return {c.needs(0) ? put_slice(dy, axis, start, zeros(shape, dy.options())) : Tensor(),
                          c.needs(1) ? slice(dy, axis, {.start = start, .end = start + count}) : Tensor()};
                },
                {{"axis", axis}, {"start", start}, {"end", start + count}});
}

Tensor stack(const Tensors& tensors, int64_t axis) {
  if (tensors.empty()) raise(ErrorKind::config, "stack: needs at least one tensor");
  const Shape& first = tensors[0].shape();
  axis = first.inserted(0, 1).axis(axis, "stack");
  Tensors rows;
  for (const Tensor& x : tensors) {
    if (x.shape() != first)
      raise(ErrorKind::shape, "stack: shapes differ: {} and {}", to_string(first), to_string(x.shape()));
    rows.push_back(reshape(x, first.inserted(axis, 1)));
  }
  return cat(rows, axis);
}

Tensors split(const Tensor& x, int64_t size, int64_t axis) {
  if (size <= 0) raise(ErrorKind::config, "split: the size must be positive, got {}", size);
  axis = x.shape().axis(axis, "split");
  const int64_t whole = x.shape()[axis], full = whole / size, rest = whole % size;
  std::vector<int64_t> sizes(static_cast<size_t>(full), size);
  if (rest > 0 || full == 0) sizes.push_back(rest);
  return split(x, sizes, axis);
}

Tensors split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis) {
  axis = x.shape().axis(axis, "split");
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < 0) raise(ErrorKind::config, "split: sizes must not be negative, got {}", pieces_text(sizes));
    total = checked_add(total, size, "split");
  }
  if (total != x.shape()[axis])
    raise(ErrorKind::shape, "split: sizes {} do not add up to axis {} of {} ({} vs {})", pieces_text(sizes), axis,
          to_string(x.shape()), total, x.shape()[axis]);
  const Extents whole(x.shape(), axis);
  Tensors pieces;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    const Shape shape = x.shape().with(axis, size);
    const int64_t offset = start * whole.inner;
    pieces.push_back(whole.outer == 1 ? view(x, offset, shape)
                                      : take_strided(x, part_of_rows(whole, size), offset, shape));
    start += size;
  }
  return record_many(split_op, {x}, pieces, {},
                     [axis, count = sizes.size()](const BackwardContext& c) -> Tensors {
                       Tensors dy;
                       for (size_t i = 0; i < count; ++i) dy.push_back(c.grad(i));
                       return {cat(dy, axis)};
                     },
                     {{"axis", axis}, {"sizes", sizes}});
}

Tensors chunk(const Tensor& x, int64_t count, int64_t axis) {
  if (count <= 0) raise(ErrorKind::config, "chunk: the count must be positive, got {}", count);
  const int64_t size = x.shape().at(axis, "chunk");
  if (size == 0) return split(x, std::vector<int64_t>(static_cast<size_t>(count)), axis);
  return split(x, size / count + (size % count != 0), axis);
}

Tensor repeat(const Tensor& x, const std::vector<int64_t>& counts) {
  const int64_t rank = std::max<int64_t>(x.rank(), std::ssize(counts));
  Shape shape = x.shape();
  while (shape.rank() < rank) shape = shape.inserted(0, 1);
  Tensor y = reshape(x, shape);
  const int64_t skipped = rank - std::ssize(counts);
  for (int64_t axis = skipped; axis < rank; ++axis) {
    const int64_t count = counts[static_cast<size_t>(axis - skipped)];
    if (count < 0) raise(ErrorKind::config, "repeat: counts must not be negative, got {}", pieces_text(counts));
    if (count == 1) continue;
    const Extents e(y.shape(), axis);
    const Shape tiled = y.shape().with(axis, checked_multiply(e.size, count, "repeat"));
    const Tensor once = reshape(y, Shape{e.outer, 1, e.size * e.inner});
    y = reshape(expand_to(once, Shape{e.outer, count, e.size * e.inner}), tiled);
  }
  return y.shares_storage(x) ? y.clone() : y;
}

Tensor roll(const Tensor& x, int64_t shift, int64_t axis) {
  axis = x.shape().axis(axis, "roll");
  if (x.numel() == 0) return alias(x);
  const Extents e(x.shape(), axis);
  const int64_t right = ((shift % e.size) + e.size) % e.size, run = e.inner * size_of(x.dtype());
  Tensor y = empty(x.shape(), x.options());
  run_kernels("roll", x.device(), [&](const KernelCall& at) {
    kernels::copy(at).rotate_rows(e.outer, e.size * run, right * run, at.in(x), at.out(y));
  });
  return record(roll_op, {x}, y, {},
                [=](const BackwardContext& c) -> Tensors { return {roll(c.grad(), -right, axis)}; },
                {{"axis", axis}, {"shift", right}});
}

Tensor roll(const Tensor& x, const std::vector<int64_t>& shifts, const std::vector<int64_t>& axes) {
  if (shifts.size() != axes.size()) raise(ErrorKind::config, "roll: {} shifts for {} axes", shifts.size(), axes.size());
  Tensor y = x;
  for (size_t i = 0; i < axes.size(); ++i) y = roll(y, shifts[i], axes[i]);
  return y;
}

Tensors unbind(const Tensor& x, int64_t axis) {
  axis = x.shape().axis(axis, "unbind");
  if (x.shape()[axis] == 0) return {};
  Tensors pieces = split(x, 1, axis);
  for (Tensor& piece : pieces) piece = reshape(piece, x.shape().removed(axis));
  return pieces;
}

}  // namespace tape
