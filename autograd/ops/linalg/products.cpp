// kron, cross, outer.
#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

/// yₚ₍ᵢₖ₎ = aᵢ bₖ on every axis: Ā sums Ȳ b over the indices of b, B̄ sums Ȳ a over the indices of a.
const Op kron_op({.name = "kron",
                  .formula = {.forward = "y{y} = a{0} ⊗ b{1}",
                              .backward = {"da{x} = the sum of dy ⊙ b over each block of the size of b",
                                           "db{x} = the sum over all blocks of dy, each times its element of a"}}});

/// ȳ · (da × b) = da · (b × ȳ) and ȳ · (a × db) = db · (ȳ × a).
const Op cross_op({.name = "cross",
                   .formula = {.forward = "y{y} = a{0} × b{1}",
                               .backward = {"da = b × dy", "db = dy × a"},
                               .summed = Summed::repeated_axes}});

const Op outer_op({.name = "outer",
                   .formula = {.forward = "y{y} = a{0} · bᵀ{1}",
                               .backward = {"da{x} = dy · b, summed over the batch that shares a",
                                            "db{x} = dyᵀ · a, summed over the batch that shares b"}}});

/// A shape of 2 * axes axes: the sizes of `shape` on every second axis starting at `first`, 1 elsewhere.
Shape spread(const Shape& shape, int64_t axes, int64_t first) {
  std::vector<int64_t> sizes(static_cast<size_t>(2 * axes), 1);
  for (int64_t axis = 0; axis < shape.rank(); ++axis)
    sizes[static_cast<size_t>(2 * (axis + axes - shape.rank()) + first)] = shape[axis];
  return sizes;
}

/// Every second axis, starting at `first`.
Axes every_second(int64_t axes, int64_t first) {
  std::vector<int64_t> all;
  for (int64_t axis = first; axis < 2 * axes; axis += 2) all.push_back(axis);
  return all;
}

/// a[p + 1] b[p + 2] - a[p + 2] b[p + 1], indices modulo 3.
Tensor cross_values(const Tensor& a, const Tensor& b, int64_t axis) {
  const Tensor next = from_vector(std::vector<int64_t>{1, 2, 0}).to(a.device()),
               last = from_vector(std::vector<int64_t>{2, 0, 1}).to(a.device());
  const auto at = [axis](const Tensor& x, const Tensor& positions) {
    return index_select(x.detach(), axis, positions);
  };
  return at(a, next) * at(b, last) - at(a, last) * at(b, next);
}

}  // namespace

Tensor kron(const Tensor& a, const Tensor& b) {
  check_same_dtype("kron", a, b);
  check_floating("kron", a);
  const int64_t axes = std::max(a.rank(), b.rank());
  if (2 * axes > Shape::kMaxRank)
    raise(ErrorKind::shape, "kron: takes at most {} axes: a {} and b {}", Shape::kMaxRank / 2, to_string(a.shape()),
          to_string(b.shape()));
  const Shape wide_a = spread(a.shape(), axes, 0), wide_b = spread(b.shape(), axes, 1);
  std::vector<int64_t> sizes;
  for (int64_t axis = 0; axis < axes; ++axis)
    sizes.push_back(checked_multiply(wide_a[2 * axis], wide_b[2 * axis + 1], "kron"));
  const Tensor y = reshape(reshape(a.detach(), wide_a) * reshape(b.detach(), wide_b), Shape(sizes));
  return record(kron_op, {a, b}, y, {a, b}, [=](const BackwardContext& c) -> Tensors {
    const Tensor from_a = c.saved(0), from_b = c.saved(1);
    const Tensor blocks = reshape(c.grad(), broadcast_shapes("kron", wide_a, wide_b));
    Tensor da, db;
    const auto summed = [&](const Tensor& other, const Shape& wide, int64_t first, const Shape& shape) {
      const Tensor terms = blocks * reshape(other, wide);
      return reshape(axes ? sum(terms, every_second(axes, first)) : terms, shape);
    };
    if (c.needs(0)) da = summed(from_b, wide_b, 1, from_a.shape());
    if (c.needs(1)) db = summed(from_a, wide_a, 0, from_b.shape());
    return {da, db};
  });
}

Tensor cross(const Tensor& a, const Tensor& b, int64_t axis) {
  check_same_dtype("cross", a, b);
  check_floating("cross", a);
  const Shape shape = broadcast_shapes("cross", a.shape(), b.shape());
  const int64_t from_back = shape.axis(axis, "cross") - shape.rank();
  for (const Tensor* x : {&a, &b})
    if (x->rank() < -from_back || x->size(from_back) != 3)
      raise(ErrorKind::shape, "cross: axis {} must be of size 3: a {} and b {}", axis, to_string(a.shape()),
            to_string(b.shape()));
  return record(cross_op, {a, b}, cross_values(a, b, from_back), {a, b},
                [from_back](const BackwardContext& c) -> Tensors {
                  return {cross(c.saved(1), c.grad(), from_back), cross(c.grad(), c.saved(0), from_back)};
                },
                {{"axis", from_back}});
}

Tensor outer(const Tensor& a, const Tensor& b) {
  check_same_dtype("outer", a, b);
  check_floating("outer", a);
  if (a.rank() == 0 || b.rank() == 0)
    raise(ErrorKind::shape, "outer: needs vectors: a {} and b {}", to_string(a.shape()), to_string(b.shape()));
  broadcast_shapes("outer", a.shape().slice(0, a.rank() - 1), b.shape().slice(0, b.rank() - 1));
  const Tensor y = unsqueeze(a.detach(), -1) * unsqueeze(b.detach(), -2);
  return record(outer_op, {a, b}, y, {a, b}, [](const BackwardContext& c) -> Tensors {
    const auto times = [](const Tensor& x, const Tensor& v, bool transpose) {
      return squeeze(product(x, unsqueeze(v, -1), {.transpose_a = transpose}), -1);
    };
    return {times(c.grad(), c.saved(1), false), times(c.grad(), c.saved(0), true)};
  });
}

}  // namespace tape::linalg
