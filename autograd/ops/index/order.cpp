#include "autograd/ops/index/order.h"

#include "autograd/create.h"
#include "autograd/kernels/index/index.h"
#include "autograd/kernels/reduce/scan.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/op.h"
#include "autograd/ops/shape/extents.h"

namespace tape {
namespace {

std::vector<OpSample> topk_samples() {
  auto best = [](int64_t k, int64_t axis, bool largest) {
    return [=](const Tensors& in) { return topk(in[0], k, axis, {.largest = largest}).values; };
  };
  return std::vector<OpSample>{{"largest", {sample_distinct({3, 4})}, best(2, -1, true)},
                               {"smallest", {sample_distinct({3, 4})}, best(3, 0, false)},
                               {"middle", {sample_distinct({2, 3, 2})}, best(1, 1, true)},
                               {"none", {sample_distinct({2, 3})}, best(0, 1, true)}};
}

const Op topk_op({.name = "topk",
                  .formula = {.forward = "y{y} = the {k} <largest:largest|least> of x{0} along axis {axis}",
                              .backward = {"dx{x} = 0, with each element of dy{y} at the place it came from"}},
                  .traits = {.kinks = true},
                  .samples = topk_samples});

std::vector<OpSample> sort_samples() {
  auto along = [](int64_t axis, bool descending) {
    return [=](const Tensors& in) { return sort(in[0], axis, {.descending = descending}).values * in[0]; };
  };
  return std::vector<OpSample>{{"rows", {sample_distinct({3, 4})}, along(-1, false)},
                               {"middle, descending", {sample_distinct({2, 3, 2})}, along(1, true)},
                               {"empty", {sample_distinct({2, 0})}, along(1, false)}};
}

const Op sort_op({.name = "sort",
                  .formula = {.forward = "y{y} = x in <descending:falling|rising> order along axis {axis}",
                              .backward = {"dx = each element of dy at the place it came from"}},
                  .traits = {.kinks = true},
                  .samples = sort_samples});

std::vector<OpSample> cumsum_samples() {
  auto along = [](int64_t axis, bool reverse) {
    return [=](const Tensors& in) { return cumsum(in[0], axis, {.reverse = reverse}); };
  };
  return std::vector<OpSample>{{"rows", {sample_normal({2, 4})}, along(-1, false)},
                               {"middle", {sample_normal({2, 3, 2})}, along(1, false)},
                               {"reverse", {sample_normal({4, 2})}, along(0, true)},
                               {"empty", {sample_normal({0, 2})}, along(0, false)}};
}

const Op cumsum_op({.name = "cumsum",
                    .formula = {.forward = "y{y}ⱼ = <reverse:Σᵢ≥ⱼ|Σᵢ≤ⱼ> xᵢ along axis {axis}",
                                .backward = {"dxⱼ = <reverse:Σᵢ≤ⱼ|Σᵢ≥ⱼ> dyᵢ, the sum from the other end"}},
                    .samples = cumsum_samples});

/// The gradient of values that were taken from `indices`: each goes back to its place.
auto put_back(int64_t axis, const Shape& shape) {
  return [axis, shape](const BackwardContext& c) -> Tensors {
    return {scatter_add(zeros(shape, c.grad().dtype()), axis, c.saved(0), c.grad())};
  };
}

}  // namespace

TopK topk(const Tensor& x, int64_t k, int64_t axis, const TopKOptions& options) {
  axis = x.shape().axis(axis, "topk");
  const Extents e(x.shape(), axis);
  if (k < 0 || k > e.size)
    raise(ErrorKind::config, "topk: k = {} is outside 0 .. {} (axis {} of {})", k, e.size, axis, to_string(x.shape()));
  const Shape shape = x.shape().with(axis, k);
  TopK best{empty(shape, x.dtype()), empty(shape, i64)};
  dispatch_floating("topk", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (shape.numel() == 0) return;
    kernels::index<T>().topk(e.outer, e.size, e.inner, x.data<T>(), k, options.largest, best.values.mutable_data<T>(),
                             best.indices.mutable_data<int64_t>());
  });
  record(topk_op, {x}, best.values, {best.indices}, put_back(axis, x.shape()),
         {{"k", k}, {"axis", axis}, {"largest", options.largest}});
  return best;
}

TopK sort(const Tensor& x, int64_t axis, const SortOptions& options) {
  axis = x.shape().axis(axis, "sort");
  const Extents e(x.shape(), axis);
  TopK sorted{empty_like(x), empty(x.shape(), i64)};
  dispatch_floating("sort", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (x.numel() == 0) return;
    kernels::index<T>().sort(e.outer, e.size, e.inner, x.data<T>(), options.descending, sorted.values.mutable_data<T>(),
                             sorted.indices.mutable_data<int64_t>());
  });
  record(sort_op, {x}, sorted.values, {sorted.indices}, put_back(axis, x.shape()),
         {{"axis", axis}, {"descending", options.descending}});
  return sorted;
}

Tensor argsort(const Tensor& x, int64_t axis, const SortOptions& options) {
  return sort(x.detach(), axis, options).indices;
}

Tensor cumsum(const Tensor& x, int64_t axis, const CumsumOptions& options) {
  axis = x.shape().axis(axis, "cumsum");
  const Extents e(x.shape(), axis);
  Tensor y = empty_like(x);
  dispatch_floating("cumsum", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::scan<T>().cumsum(e.outer, e.size, e.inner, x.data<T>(), y.mutable_data<T>(), options.reverse);
  });
  return record(cumsum_op, {x}, y, {},
                [axis, reverse = options.reverse](const BackwardContext& c) -> Tensors {
                  return {cumsum(c.grad(), axis, {.reverse = !reverse})};
                },
                {{"axis", axis}, {"reverse", options.reverse}});
}

}  // namespace tape
