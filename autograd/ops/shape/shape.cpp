#include "autograd/ops/shape/shape.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include <fmt/ranges.h>

#include "autograd/create.h"
#include "autograd/device_memory.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

/// Rearrangements only move values; the gradient moves them back.
const Op clone_op({.name = "clone", .formula = {.forward = "y{y} = a copy of x", .backward = {"dx = dy"}}});

const Op alias_op({.name = "alias",
                   .formula = {.forward = "y{y} = x, another node for the same values", .backward = {"dx = dy"}},
                   .traits = {.view = true}});

const Op reshape_op({.name = "reshape",
                     .formula = {.forward = "y{y} = the values of x{0} in another shape",
                                 .backward = {"dx{x} = dy{y} in the shape of x"}},
                     .traits = {.view = true, .axes = AxesFrom::reshape}});

const Op expand_op({.name = "expand",
                    .formula = {.forward = "y{y} = x{0} repeated along axes of size 1",
                                .backward = {"dx{x} = dy{y} summed over the repeated axes"}}});

const Op sum_to_op({.name = "sum_to",
                    .formula = {.forward = "y{y} = x{0} summed to a shape that broadcasts to it",
                                .backward = {"dx{x} = dy{y} repeated along the summed axes"}}});

const Op permute_op({.name = "permute",
                     .formula = {.forward = "y{y} = x{0} with its axes in the order {axes}",
                                 .backward = {"dx{x} = dy{y} with the axes in their original order"}},
                     .traits = {.axes = AxesFrom::permutation}});

const Op slice_op({.name = "slice",
                   .formula = {.forward = "y{y} = x{0} from {start} to {end}<step: in steps of {step}> along "
                                          "axis {axis}",
                               .backward = {"dx{x} = 0, with dy{y} at that part"}},
                   .traits = {.axes = AxesFrom::slice}});

/// Inverse of slice: x at its positions in zeros of the whole shape; its gradient is the slice.
const Op unslice_op({.name = "unslice",
                     .formula = {.forward = "y{y} = 0, with x{0} at one part",
                                 .backward = {"dx{x} = that part of dy{y}"}}});

Tensor gathered(const Tensor& x, const Shape& shape, std::span<const int64_t> strides, int64_t offset = 0) {
  return take_strided(x, strided(shape, strides), offset, shape);
}

}  // namespace

Tensor clone(const Tensor& x) {
  Tensor y = empty_like(x);
  copy_bytes(y.device(), y.device_raw(), x.device(), x.device_raw(), x.numel() * size_of(x.dtype()));
  return record(clone_op, {x}, y, {}, [](const BackwardContext& c) -> Tensors { return {c.grad()}; });
}

Tensor alias(const Tensor& x) {
  return record(alias_op, {x}, x.detach(), {}, [](const BackwardContext& c) -> Tensors { return {c.grad()}; });
}

Tensor reshape(const Tensor& x, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> known = sizes;
  const auto unknown = std::find(known.begin(), known.end(), -1);
  if (unknown != known.end()) {
    if (std::find(unknown + 1, known.end(), -1) != known.end())
      raise(ErrorKind::shape, "reshape: only one size can be -1, got [{}]", fmt::to_string(fmt::join(sizes, ", ")));
    *unknown = 1;
    const int64_t rest = Shape(known).numel();
    if (rest == 0 || x.numel() % rest != 0)
      raise(ErrorKind::shape, "reshape: no size for -1 fits: {} to [{}]", to_string(x.shape()),
            fmt::to_string(fmt::join(sizes, ", ")));
    *unknown = x.numel() / rest;
  }
  return reshape(x, Shape(known));
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  if (shape.numel() != x.numel())
    raise(ErrorKind::shape, "reshape: sizes differ: {} to {} ({} vs {} elements)", to_string(x.shape()),
          to_string(shape), x.numel(), shape.numel());
  return record(reshape_op, {x}, view(x, 0, shape), {},
                [from = x.shape()](const BackwardContext& c) -> Tensors { return {reshape(c.grad(), from)}; });
}

Tensor flatten(const Tensor& x, int64_t first, int64_t last) {
  if (x.rank() == 0) return reshape(x, Shape{1});
  first = x.shape().axis(first, "flatten");
  last = x.shape().axis(last, "flatten");
  if (first > last) raise(ErrorKind::config, "flatten: the first axis {} is after the last {}", first, last);
  std::vector<int64_t> sizes = x.shape().slice(0, first).to_vector();
  sizes.push_back(x.shape().slice(first, last + 1).numel());
  for (int64_t i = last + 1; i < x.rank(); ++i) sizes.push_back(x.shape()[i]);
  return reshape(x, Shape(sizes));
}

Tensor squeeze(const Tensor& x, const Axes& axes) {
  const std::vector<bool> meant = axes.mask(x.shape(), "squeeze");
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!meant[static_cast<size_t>(i)] || x.shape()[i] != 1) sizes.push_back(x.shape()[i]);
  return reshape(x, Shape(sizes));
}

Tensor unsqueeze(const Tensor& x, int64_t axis) {
  if (axis < -x.rank() - 1 || axis > x.rank())
    raise(ErrorKind::index, "unsqueeze: axis {} is out of range for shape {}", axis, to_string(x.shape()));
  return reshape(x, x.shape().inserted(axis < 0 ? axis + x.rank() + 1 : axis, 1));
}

Tensor expand(const Tensor& x, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> full = sizes;
  const int64_t extra = std::ssize(sizes) - x.rank();
  for (size_t i = 0; i < full.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) - extra;
    if (full[i] == -1 && axis >= 0) full[i] = x.shape()[axis];
  }
  return expand_to(x, Shape(full));
}

Tensor expand_to(const Tensor& x, const Shape& shape) {
  if (!broadcasts_to(x.shape(), shape))
    raise(ErrorKind::shape, "expand: {} does not broadcast to {}", to_string(x.shape()), to_string(shape));
  return record(expand_op, {x}, gathered(x, shape, broadcast_strides(x.shape(), shape)), {},
                [from = x.shape()](const BackwardContext& c) -> Tensors { return {sum_to(c.grad(), from)}; });
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (!broadcasts_to(shape, x.shape()))
    raise(ErrorKind::shape, "sum_to: {} does not broadcast to {}", to_string(shape), to_string(x.shape()));
  const int64_t extra = x.rank() - shape.rank();
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i < extra || (shape[i - extra] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  const Tensor values = x.detach();
  const Tensor total = axes.empty() ? values : sum(values, Axes(axes), Dims::keep);
  return record(sum_to_op, {x}, view(total, 0, shape), {},
                [from = x.shape()](const BackwardContext& c) -> Tensors { return {expand_to(c.grad(), from)}; });
}

Tensor permute(const Tensor& x, const std::vector<int64_t>& axes) {
  if (std::ssize(axes) != x.rank())
    raise(ErrorKind::shape, "permute: {} axes for shape {}", axes.size(), to_string(x.shape()));
  Axes(axes).mask(x.shape(), "permute");
  const auto own = contiguous_strides(x.shape());
  std::vector<int64_t> sizes, strides, back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = x.shape().axis(axes[i], "permute");
    sizes.push_back(x.shape()[axis]);
    strides.push_back(own[static_cast<size_t>(axis)]);
    back[static_cast<size_t>(axis)] = static_cast<int64_t>(i);
  }
  return record(permute_op, {x}, gathered(x, Shape(sizes), strides), {},
                [back](const BackwardContext& c) -> Tensors { return {permute(c.grad(), back)}; }, {{"axes", axes}});
}

Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  std::vector<int64_t> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(x.shape().axis(a, "transpose"))],
            axes[static_cast<size_t>(x.shape().axis(b, "transpose"))]);
  return permute(x, axes);
}

Tensor movedim(const Tensor& x, const std::vector<int64_t>& source, const std::vector<int64_t>& destination) {
  if (source.size() != destination.size())
    raise(ErrorKind::shape, "movedim: {} source axes and {} destinations for {}", source.size(), destination.size(),
          to_string(x.shape()));
  Axes(source).mask(x.shape(), "movedim");
  Axes(destination).mask(x.shape(), "movedim");
  std::vector<int64_t> order(static_cast<size_t>(x.rank()), -1), staying(order.size());
  std::iota(staying.begin(), staying.end(), 0);
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t axis = x.shape().axis(source[i], "movedim");
    order[static_cast<size_t>(x.shape().axis(destination[i], "movedim"))] = axis;
    std::erase(staying, axis);
  }
  auto next = staying.begin();
  for (int64_t& axis : order)
    if (axis < 0) axis = *next++;
  return std::is_sorted(order.begin(), order.end()) ? x : permute(x, order);
}

Tensor movedim(const Tensor& x, int64_t source, int64_t destination) {
  return movedim(x, std::vector{source}, std::vector{destination});
}

namespace {

/// A resolved slice: `count` positions start, start + step, ... of an axis.
struct Range {
  int64_t axis, start, step, count;

  int64_t end() const { return count ? start + (count - 1) * step + 1 : start; }
  std::optional<int64_t> stride() const { return step == 1 ? std::nullopt : std::optional(step); }
};

Tensor slice_range(const Tensor& x, const Range& range);

/// Zeros of the whole shape with x at the positions of the slice. Gradient of a slice; its own gradient is the slice.
Tensor unslice(const Tensor& x, const Shape& whole, const Range& range) {
  Tensor y = zeros(whole, x.options());
  auto strides = contiguous_strides(whole);
  const int64_t offset = range.start * strides[static_cast<size_t>(range.axis)];
  strides[static_cast<size_t>(range.axis)] *= range.step;
  put_strided(x, strided(x.shape(), strides), offset, y);
  return record(unslice_op, {x}, y, {},
                [range](const BackwardContext& c) -> Tensors { return {slice_range(c.grad(), range)}; },
                {{"axis", range.axis}, {"start", range.start}, {"end", range.end()}, {"step", range.stride()}});
}

Tensor slice_range(const Tensor& x, const Range& range) {
  const Shape shape = x.shape().with(range.axis, range.count);
  auto strides = contiguous_strides(x.shape());
  const int64_t offset = range.count ? range.start * strides[static_cast<size_t>(range.axis)] : 0;
  // A slice along the first axis is contiguous, also if all axes before it have size 1.
  const bool leading = range.step == 1 && x.shape().slice(0, range.axis).numel() == 1;
  strides[static_cast<size_t>(range.axis)] *= range.step;
  Tensor y = leading ? view(x, offset, shape) : gathered(x, shape, strides, offset);
  return record(
      slice_op, {x}, y, {},
      [whole = x.shape(), range](const BackwardContext& c) -> Tensors { return {unslice(c.grad(), whole, range)}; },
      {{"axis", range.axis}, {"start", range.start}, {"end", range.end()}, {"step", range.stride()}});
}

}  // namespace

Tensor slice(const Tensor& x, int64_t axis, const SliceOptions& options) {
  axis = x.shape().axis(axis, "slice");
  if (options.step < 1) raise(ErrorKind::config, "slice: the step must be at least 1, got {}", options.step);
  const int64_t size = x.shape()[axis];
  const auto clipped = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t start = clipped(options.start), end = clipped(options.end);
  // A longer step also takes only the first position; times a stride it could overflow.
  const int64_t step = std::min(options.step, std::max<int64_t>(size, 1));
  const int64_t count = end > start ? (end - start - 1) / step + 1 : 0;
  return slice_range(x, {axis, start, step, count});
}

Tensor select(const Tensor& x, int64_t axis, int64_t index) {
  axis = x.shape().axis(axis, "select");
  const int64_t size = x.shape()[axis];
  if (index < -size || index >= size)
    raise(ErrorKind::index, "select: index {} is outside [{}, {}) on axis {} of {}", index, -size, size, axis,
          to_string(x.shape()));
  return reshape(slice_range(x, {axis, index < 0 ? index + size : index, 1, 1}), x.shape().removed(axis));
}

Tensor samples_first(const Tensor& x, int64_t axis, int64_t samples) {
  return movedim(reshape(x, x.shape().with(axis, x.size(axis) / samples).inserted(axis, samples)), axis, 0);
}

}  // namespace tape
