#include "autograd/ops/shape/pad.h"

#include "autograd/create.h"
#include "autograd/kernels/index/index.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Op pad_op({.name = "pad",
                 .formula = {.forward = "y{y} = x{0} padded with {value}",
                             .backward = {"dx{x} = dy{y} without the padding"}}});

const Op flip_op({.name = "flip",
                  .formula = {.forward = "y{y} = x with axes {axes} reversed",
                              .backward = {"dx = dy with the same axes reversed"}}});

const Op tril_op({.name = "tril",
                  .formula = {.forward = "y{y} = x on and below diagonal {diagonal}, 0 above",
                              .backward = {"dx = dy on and below it, 0 above"}}});

const Op triu_op({.name = "triu",
                  .formula = {.forward = "y{y} = x on and above diagonal {diagonal}, 0 below",
                              .backward = {"dx = dy on and above it, 0 below"}}});

Tensor triangle(const Op& op, const Tensor& x, int64_t diagonal, bool lower);

struct Triangle {
  const Op& op;
  int64_t diagonal;
  bool lower;
  static constexpr bool saves_inputs = false;

  void forward(const auto& c) const {
    const int64_t rows = c.input(0).size(-2), cols = c.input(0).size(-1);
    if (c.numel() > 0)
      kernels::index(c).triangle(c.numel() / (rows * cols), rows, cols, diagonal, lower, c.in(0), c.out());
  }
  Tensors gradients(const BackwardContext& c) const { return {triangle(op, c.grad(), diagonal, lower)}; }
};

Tensor triangle(const Op& op, const Tensor& x, int64_t diagonal, bool lower) {
  if (x.rank() < 2) raise(ErrorKind::shape, "{}: needs at least two axes, got {}", op.name(), to_string(x.shape()));
  if (is_floating(x.dtype())) return fused(op, {x}, Triangle{op, diagonal, lower}, {{"diagonal", diagonal}});
  const TensorOptions at(i64, x.device());
  const Tensor edge = reshape(arange(x.size(-2), at) + diagonal, {x.size(-2), 1}), col = arange(x.size(-1), at);
  return where(lower ? le(col, edge) : ge(col, edge), x, scalar(0, x.options()));
}

}  // namespace

Tensor pad(const Tensor& x, const std::vector<Padding>& amounts, double value) {
  const int64_t skipped = x.rank() - std::ssize(amounts);
  if (skipped < 0)
    raise(ErrorKind::shape, "pad: amounts for {} axes, the tensor is {}", amounts.size(), to_string(x.shape()));
  Shape shape = x.shape();
  for (size_t i = 0; i < amounts.size(); ++i) {
    const auto& [before, after] = amounts[i];
    if (before < 0 || after < 0)
      raise(ErrorKind::config, "pad: amounts must not be negative, got {} and {}", before, after);
    const int64_t axis = skipped + static_cast<int64_t>(i);
    shape = shape.with(axis, checked_add(checked_add(shape[axis], before, "pad"), after, "pad"));
  }
  Tensor y = full(shape, value, x.options());
  const auto strides = contiguous_strides(shape);
  int64_t start = 0;
  for (size_t i = 0; i < amounts.size(); ++i) start += amounts[i].before * strides[i + static_cast<size_t>(skipped)];
  put_strided(x, strided(x.shape(), strides), start, y);
  return record(pad_op, {x}, y, {},
                [amounts, skipped, inside = x.shape()](const BackwardContext& c) -> Tensors {
                  Tensor dx = c.grad();
                  for (size_t i = 0; i < amounts.size(); ++i) {
                    const int64_t axis = skipped + static_cast<int64_t>(i), before = amounts[i].before;
                    if (dx.shape()[axis] != inside[axis])
                      dx = slice(dx, axis, {.start = before, .end = before + inside[axis]});
                  }
                  return {dx};
                },
                {{"value", value}});
}

Tensor flip(const Tensor& x, const Axes& axes) {
  const std::vector<bool> meant = axes.mask(x.shape(), "flip");
  std::vector<int64_t> reversed;
  auto strides = contiguous_strides(x.shape());
  int64_t start = 0;
  for (size_t i = 0; i < meant.size(); ++i) {
    if (!meant[i]) continue;
    reversed.push_back(static_cast<int64_t>(i));
    start += (x.shape()[static_cast<int64_t>(i)] - 1) * strides[i];
    strides[i] = -strides[i];
  }
  const Tensor y = take_strided(x, strided(x.shape(), strides), start, x.shape());
  return record(flip_op, {x}, y, {}, [axes](const BackwardContext& c) -> Tensors { return {flip(c.grad(), axes)}; },
                {{"axes", reversed}});
}

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle(tril_op, x, diagonal, true); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle(triu_op, x, diagonal, false); }

}  // namespace tape
