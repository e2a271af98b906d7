#include "autograd/ops/index/scatter.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/kernels/index/index.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/positions.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

const Op scatter_op({.name = "scatter",
                     .formula = {.forward = "y{y} = x{0}, with the elements of source{1} written to the positions in "
                                            "the index along axis {axis}",
                                 .backward = {"dx = dy, 0 at these positions",
                                              "dsource{x} = the elements of dy{y} at the index, 0 where "
                                              "overwritten"}},
                     .traits = {.produces_neg_inf = true}});

const Op index_copy_op({.name = "index_copy",
                        .formula = {.forward = "y{y} = x{0}, with the slices of source{1} written to the positions in "
                                               "the index along axis {axis}",
                                    .backward = {"dx = dy, 0 at these positions",
                                                 "dsource{x} = the slices of dy{y} at the index, 0 where "
                                                 "overwritten"}}});

const Op scatter_reduce_op({.name = "scatter_reduce",
                            .formula = {.forward = "y{y} = x{0}, and at the positions in the index along axis {axis} "
                                                   "the {reduce} of x and the elements of source{1}",
                                        .backward = {"dx = <product:dy ⊙ the product of the others|dy where x is y, "
                                                     "shared equally among ties, else 0>",
                                                     "dsource{x} = <product:dy ⊙ the product of the others|dy where "
                                                     "the source is y, shared equally among ties, else 0>"}},
                            .traits = {.has_kinks = true}});

/// Gradient of the written values: 0 where a later value overwrote them. `flags` is the shape of the index broadcast
/// against the gradient.
Tensor last_write_gradient(const Tensor& gradient, const Extents& e, int64_t count, const Tensor& index,
                           const Shape& flags) {
  if (gradient.numel() == 0) return gradient;
  Tensor last = empty(flags, {boolean, gradient.device()});
  bool repeated = true;
  run_kernels("scatter", gradient.device(), [&](const KernelCall& at) {
    bool* const any = reading_waits(gradient.device()) ? nullptr : &repeated;
    kernels::take(at).mark_last(e.outer, e.size, e.inner, count, at.in<int64_t>(index), at.out<bool>(last), any);
  });
  if (!repeated) return gradient;
  return where(last, gradient, scalar(0, gradient.options()));
}

/// dx and dsource of a product: the product of the other factors. A zero factor only has one if all others are
/// non-zero.
Tensors product_gradients(const BackwardContext& c, int64_t axis) {
  const Tensor x = c.saved(0), source = c.saved(1), index = c.saved(2), dy = c.grad();
  const Tensor none = eq(x.detach(), 0), source_none = eq(source.detach(), 0);
  if (c.create_graph())
    for (const Tensor& zeros : {none, source_none})
      check_none(ErrorKind::graph, "scatter_reduce", zeros, "a product with zero factors has no second derivative");
  const Tensor factors = masked_fill(x, none, 1), source_factors = masked_fill(source, source_none, 1);
  const Tensor product = scatter_reduce(factors, axis, index, source_factors, Reduce::prod);
  const Tensor zero_count = scatter_add(cast(none, x.dtype()), axis, index, cast(source_none, x.dtype()));
  const auto others = [&](const Tensor& all, const Tensor& count, const Tensor& own, const Tensor& is_zero) {
    const Tensor whole = masked_fill(all / own, ne(count, 0), 0);
    return where(is_zero, masked_fill(all, ne(count, 1), 0), whole);
  };
  Tensor dx, dsource;
  if (c.needs(0)) dx = dy * others(product, zero_count, factors, none);
  if (c.needs(1))
    dsource = gather(dy, axis, index) *
              others(gather(product, axis, index), gather(zero_count, axis, index), source_factors, source_none);
  return {dx, dsource};
}

/// dx and dsource of a maximum or minimum: shared equally among ties.
Tensors extremum_gradients(const BackwardContext& c, int64_t axis) {
  const Tensor x = c.saved(0).detach(), source = c.saved(1).detach(), index = c.saved(2), y = c.saved(3).detach();
  const Tensor chosen = cast(eq(x, y), x.dtype()), source_chosen = cast(eq(source, gather(y, axis, index)), x.dtype());
  const Tensor share = c.grad() / scatter_add(chosen, axis, index, source_chosen);
  return {c.needs(0) ? where(ne(chosen, 0), share, scalar(0, x.options())) : Tensor(),
          c.needs(1) ? gather(share, axis, index) * source_chosen : Tensor()};
}

/// prod, amax and amin including x's own values.
Tensor reduced(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source, Reduce reduce) {
  const Extents e(x.shape(), axis);
  Tensor y = x.detach().clone();
  run_kernels("scatter_reduce", x.device(), [&](const KernelCall& at) {
    dispatch_floating("scatter_reduce", x.dtype(), [&]<class T>(T) {
      const auto& table = kernels::index<T>(at);
      const int64_t count = index.shape()[axis];
      const int64_t* const places = at.in<int64_t>(index);
      if (reduce == Reduce::prod)
        table.scatter_mul(e.outer, e.size, e.inner, at.out<T>(y), count, places, at.in<T>(source));
      else
        table.scatter_extremum(e.outer, e.size, e.inner, at.out<T>(y), count, places, at.in<T>(source),
                               reduce == Reduce::amax);
    });
  });
  const bool product = reduce == Reduce::prod;
  return record(scatter_reduce_op, {x, source}, y, {x, source, index, y},
                [axis, product](const BackwardContext& c) {
                  return product ? product_gradients(c, axis) : extremum_gradients(c, axis);
                },
                {{"axis", axis},
                 {"reduce", std::string_view(product                  ? "product"
                                             : reduce == Reduce::amax ? "maximum"
                                                                      : "minimum")},
                 {"product", product}});
}

/// Neutral element of the reduction.
double neutral(Reduce reduce) {
  if (reduce == Reduce::prod) return 1;
  return reduce == Reduce::amax ? -INFINITY : reduce == Reduce::amin ? INFINITY : 0;
}

}  // namespace

Tensor scatter(const Tensor& x, int64_t axis, const Tensor& given, const Tensor& source) {
  axis = x.shape().axis(axis, "scatter");
  check_scattered("scatter", x, axis, given, source);
  const Extents e(x.shape(), axis);
  const Tensor index = wrapped_index("scatter", given, e.size);
  const int64_t count = index.shape()[axis];
  Tensor y = x.detach().clone();
  run_kernels("scatter", x.device(), [&](const KernelCall& at) {
    kernels::take(at).scatter(e.outer, e.size, e.inner, size_of(x.dtype()), at.out(y), count, at.in<int64_t>(index),
                              at.in(source));
  });
  return record(scatter_op, {x, source}, y, {index},
                [axis, e, count](const BackwardContext& c) -> Tensors {
                  const Tensor at = c.saved(0), dy = c.grad();
                  return {c.needs(0) ? scatter(dy, axis, at, 0) : Tensor(),
                          c.needs(1) ? last_write_gradient(gather(dy, axis, at), e, count, at, at.shape()) : Tensor()};
                },
                {{"axis", axis}});
}

Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, double value) {
  return scatter(x, axis, index, full(index.shape(), value, x.options()));
}

Tensor scatter_reduce(const Tensor& x, int64_t axis, const Tensor& given, const Tensor& source, Reduce reduce,
                      const ScatterReduceOptions& options) {
  axis = x.shape().axis(axis, "scatter_reduce");
  check_floating("scatter_reduce", x);
  if (reduce == Reduce::sum && options.include_self) return scatter_sum("scatter_reduce", x, axis, given, source);
  check_scattered("scatter_reduce", x, axis, given, source);
  const Tensor index = wrapped_index("scatter_reduce", given, x.shape()[axis]);
  const Tensor start = options.include_self ? x : scatter(x, axis, index, neutral(reduce));
  if (reduce != Reduce::sum && reduce != Reduce::mean) return reduced(start, axis, index, source, reduce);
  Tensor total = scatter_add(start, axis, index, source);
  if (reduce == Reduce::sum) return total;
  const Tensor own = options.include_self ? ones_like(x) : scatter(ones_like(x), axis, index, 0);
  return total / scatter_add(own, axis, index, ones_like(source));
}

Tensor index_copy(const Tensor& x, int64_t axis, const Tensor& given, const Tensor& source) {
  axis = x.shape().axis(axis, "index_copy");
  const Extents e(x.shape(), axis);
  const Tensor index = wrapped_slices("index_copy", x, axis, given, source);
  Tensor y = x.detach().clone();
  run_kernels("index_copy", x.device(), [&](const KernelCall& at) {
    kernels::take(at).put(e.outer, e.size, e.inner, size_of(x.dtype()), at.out(y), index.numel(), at.in<int64_t>(index),
                          at.in(source));
  });
  return record(index_copy_op, {x, source}, y, {index},
                [axis, size = e.size, shape = source.shape()](const BackwardContext& c) -> Tensors {
                  const Tensor at = c.saved(0), dy = c.grad();
                  Tensor dsource;
                  if (c.needs(1)) {
                    Shape along;  // the axis followed by axes of size 1
                    for (int64_t i = axis; i < shape.rank(); ++i) along = along.inserted(i - axis, 1);
                    dsource = last_write_gradient(index_select(dy, axis, at), Extents({size}, 0), at.numel(), at,
                                                  along.with(0, at.numel()));
                  }
                  return {c.needs(0) ? index_copy(dy, axis, at, zeros(shape, dy.options())) : Tensor(), dsource};
                },
                {{"axis", axis}});
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> axis) {
  if (!axis) return gather(reshape(x, {-1}), 0, reshape(index, {-1}));
  const int64_t along = x.shape().axis(*axis, "take_along_dim");
  if (x.rank() != index.rank())
    raise(ErrorKind::shape, "take_along_dim: x {} and the index {} differ in rank", to_string(x.shape()),
          to_string(index.shape()));
  const Shape common = broadcast_shapes("take_along_dim", x.shape().with(along, 1), index.shape().with(along, 1));
  return gather(expand_to(x, common.with(along, x.shape()[along])), along,
                expand_to(index, common.with(along, index.shape()[along])));
}

}  // namespace tape
