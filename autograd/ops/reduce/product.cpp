#include "autograd/ops/reduce/product.h"

#include "autograd/create.h"
#include "autograd/kernels/elementwise/common/whole_numbers.h"
#include "autograd/kernels/reduce/fold.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/reduce/reduction_plan.h"
#include "autograd/ops/reduce/scan.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> prod_samples() {
  auto over = [](const Axes& axes, Dims dims) { return [=](const Tensors& in) { return prod(in[0], axes, dims); }; };
  const Tensor zeros = tensor({{0, 2, -1.5}, {0.5, 0, 3}, {0, 0, 1}, {1, 2, 3}}, f64);
  return std::vector<OpSample>{{"all", {sample_normal({2, 3})}, over({}, Dims::drop)},
                               {"last", {sample_normal({2, 3, 4})}, over(-1, Dims::keep)},
                               {"middle", {sample_normal({2, 3, 4})}, over(1, Dims::drop)},
                               {"apart", {sample_normal({2, 3, 2})}, over({0, 2}, Dims::keep)},
                               {"zeros, rows", {zeros}, over(1, Dims::drop)},
                               {"zeros, columns", {zeros}, over(0, Dims::drop)},
                               {"rank 0", {sample_normal({})}, over({}, Dims::drop)},
                               {"size 1", {sample_normal({1, 3})}, over(0, Dims::drop)}};
}

const Op prod_op({.name = "prod",
                  .formula = {.forward = "y{y} = Π x{0} over axes {axes}",
                              .backward = {"dx{x} = dy{y} ⊙ the product of the others"}},
                  .samples = prod_samples});

/// The same one axis after the other, of operations whose derivatives are right where values are zero.
Tensor composed_prod(Tensor y, const std::vector<int64_t>& axes, const Shape& shape) {
  for (const int64_t axis : axes) y = slice(cumprod(y, axis), axis, {.start = y.size(axis) - 1});
  return reshape(y, shape);
}

/// Back from the order of axes that the plan put them to.
Tensor in_own_order(const Tensor& dx, const ReductionPlan& plan, const Shape& shape) {
  if (!plan.moved) return reshape(dx, shape);
  std::vector<int64_t> sizes = plan.dropped.to_vector(), behind;
  for (const int64_t axis : plan.axes) {
    behind.push_back(std::ssize(sizes));
    sizes.push_back(shape[axis]);
  }
  return movedim(reshape(dx, Shape(sizes)), behind, plan.axes);
}

Tensor prod_gradient(const Tensor& x, const Tensor& dy, const Axes& axes) {
  const ReductionPlan plan("prod", x, axes);
  Tensor dx = empty(plan.values.shape(), x.dtype());
  dispatch_floating("prod", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::fold_axis<T>().product_backward(plan.outer, plan.size, plan.inner, plan.values.data<T>(), dy.data<T>(),
                                             dx.mutable_data<T>());
  });
  return in_own_order(dx, plan, x.shape());
}

}  // namespace

Tensor prod(const Tensor& x, const Axes& axes, Dims dims) {
  if (!is_floating(x.dtype())) {
    const ReductionPlan plan("prod", cast(x, i64), axes);
    Tensor y = empty(plan.shape(dims), i64);
    kernels::whole_numbers().product(plan.outer, plan.size, plan.inner, plan.values.data<int64_t>(),
                                     y.mutable_data<int64_t>());
    return y;
  }
  if (is_half(x.dtype())) return in_wide([&](const Tensor& wide) { return prod(wide, axes, dims); }, x);
  const ReductionPlan plan("prod", x, axes);
  Tensor y = empty(plan.shape(dims), x.dtype());
  dispatch_floating("prod", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::fold_axis<T>().product(plan.outer, plan.size, plan.inner, plan.values.data<T>(), y.mutable_data<T>());
  });
  return record(prod_op, {x}, y, {x},
                [axes, reduced = plan.axes, shape = y.shape()](const BackwardContext& c) -> Tensors {
                  const Tensor v = c.saved(0);
                  if (v.numel() == 0) return {zeros_like(v)};
                  if (!c.create_graph()) return {prod_gradient(v, c.grad(), axes)};
                  return twin_gradients(
                      c, {v}, 1, [&](const Tensors& in) -> Tensors { return {composed_prod(in[0], reduced, shape)}; });
                },
                {{"axes", plan.axes}, {"keepdim", dims == Dims::keep}});
}

}  // namespace tape
