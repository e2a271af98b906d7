#include "autograd/ops/reduce/product.h"

#include "autograd/create.h"
#include "autograd/kernels/elementwise/common/integer_ops.h"
#include "autograd/kernels/reduce/fold.h"
#include "autograd/kernels/shape/common/copy.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/reduce/reduction_plan.h"
#include "autograd/ops/reduce/scan.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Op prod_op({.name = "prod",
                  .formula = {.forward = "y{y} = Π x{0} over axes {axes}",
                              .backward = {"dx{x} = dy{y} ⊙ the product of the others"}}});

struct Prod : ReducedAxes {
  void forward(const auto& c) const { fold(c, kernels::fold_axis(c).product); }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    const auto& kernel = kernels::fold_axis(c).product_backward;
    if (plan.order.empty()) return kernel(plan.outer, plan.size, plan.inner, c.in(0), c.dout(), c.din(0));
    const Tensor x = plan.ordered(c.input(0));
    Tensor dx = empty_like(x);
    kernel(plan.outer, plan.size, plan.inner, c.at().template in<T>(x), c.dout(), c.at().template out<T>(dx));
    const auto own = contiguous_strides(plan.from);
    std::vector<int64_t> strides;
    for (const int64_t axis : plan.order) strides.push_back(own[static_cast<size_t>(axis)]);
    kernels::copy(c).to_strided(strided(x.shape(), strides), sizeof(T), c.at().template in<T>(dx), c.din(0));
  }
  /// One axis after the other with cumprod, whose derivatives are correct for zeros.
  Tensor reference(Inputs in) const {
    if (in[0].numel() == 0) return sum(in[0], plan.axes, dims) + 1;
    Tensor y = in[0];
    for (const int64_t axis : plan.axes) y = slice(cumprod(y, axis), axis, {.start = y.size(axis) - 1});
    return reshape(y, plan.shape(dims));
  }
};

}  // namespace

Tensor prod(const Tensor& x, const Axes& axes, Dims dims) {
  const ReductionPlan plan("prod", x.shape(), axes);
  if (is_floating(x.dtype())) return reduced(prod_op, x, Prod{{plan, dims}});
  return reduced_values<int64_t>("prod", plan, cast(x, i64), dims, [](const KernelCall& at, auto... arguments) {
    kernels::integer_ops(at).product(arguments...);
  });
}

}  // namespace tape
