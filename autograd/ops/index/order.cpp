#include "autograd/ops/index/order.h"

#include "autograd/kernels/index/index.h"
#include "autograd/kernels/reduce/scan.h"
#include "autograd/ops/index/selected_values.h"
#include "autograd/ops/shape/extents.h"

namespace tape {
namespace {

const Op topk_op({.name = "topk",
                  .formula = {.forward = "y{y} = the {k} <largest:largest|smallest> of x{0} along axis {axis}",
                              .backward = {"dx{x} = 0, with each element of dy{y} at the position it came from"}},
                  .traits = {.has_kinks = true}});

const Op sort_op({.name = "sort",
                  .formula = {.forward = "y{y} = x in <descending:descending|ascending> order along axis {axis}",
                              .backward = {"dx = each element of dy at the position it came from"}},
                  .traits = {.has_kinks = true}});

const Op cumsum_op({.name = "cumsum",
                    .formula = {.forward = "y{y}ⱼ = <reverse:Σᵢ≥ⱼ|Σᵢ≤ⱼ> xᵢ along axis {axis}",
                                .backward = {"dxⱼ = <reverse:Σᵢ≤ⱼ|Σᵢ≥ⱼ> dyᵢ, the sum from the other end"}}});

struct TopKValues : SelectedValues {
  int64_t k;
  bool largest;

  void forward(const auto& c) const {
    const Extents e(from, axis);
    if (c.numel() > 0) kernels::index(c).topk(e.outer, e.size, e.inner, c.in(0), k, largest, c.out(), positions(c));
  }
};

struct SortedValues : SelectedValues {
  bool descending;

  void forward(const auto& c) const {
    const Extents e(from, axis);
    if (c.numel() > 0) kernels::index(c).sort(e.outer, e.size, e.inner, c.in(0), descending, c.out(), positions(c));
  }
};

struct Cumsum {
  Extents e;
  int64_t axis;
  bool reverse;
  static constexpr bool saves_inputs = false;

  void forward(const auto& c) const { kernels::scan(c).cumsum(e.outer, e.size, e.inner, c.in(0), c.out(), reverse); }
  Tensors gradients(const BackwardContext& c) const { return {cumsum(c.grad(), axis, {.reverse = !reverse})}; }
};

}  // namespace

TopK topk(const Tensor& x, int64_t k, int64_t axis, const TopKOptions& options) {
  axis = x.shape().axis(axis, "topk");
  const Extents e(x.shape(), axis);
  if (k < 0 || k > e.size)
    raise(ErrorKind::config, "topk: k = {} is outside 0 .. {} (axis {} of {})", k, e.size, axis, to_string(x.shape()));
  const auto [values, indices] =
      fused(topk_op, {x}, TopKValues{{x.shape(), axis, x.shape().with(axis, k)}, k, options.largest},
            {{"k", k}, {"axis", axis}, {"largest", options.largest}});
  return {values, indices};
}

TopK sort(const Tensor& x, int64_t axis, const SortOptions& options) {
  axis = x.shape().axis(axis, "sort");
  const auto [values, indices] = fused(sort_op, {x}, SortedValues{{x.shape(), axis, x.shape()}, options.descending},
                                       {{"axis", axis}, {"descending", options.descending}});
  return {values, indices};
}

Tensor argsort(const Tensor& x, int64_t axis, const SortOptions& options) {
  return sort(x.detach(), axis, options).indices;
}

Tensor cumsum(const Tensor& x, int64_t axis, const CumsumOptions& options) {
  axis = x.shape().axis(axis, "cumsum");
  return fused(cumsum_op, {x}, Cumsum{Extents(x.shape(), axis), axis, options.reverse},
               {{"axis", axis}, {"reverse", options.reverse}});
}

}  // namespace tape
