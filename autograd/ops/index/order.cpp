#include "autograd/ops/index/order.h"

#include "autograd/create.h"
#include "autograd/kernels/index/index.h"
#include "autograd/kernels/reduce/scan.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/taken_values.h"
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

struct TopKValues : TakenValues {
  int64_t k;
  bool largest;

  template <class T>
  void forward(const ForwardCall<T>& c) const {
    const Extents e(from, axis);
    if (c.numel() > 0) kernels::index(c).topk(e.outer, e.size, e.inner, c.in(0), k, largest, c.out(), places(c));
  }
};

struct SortedValues : TakenValues {
  bool descending;

  template <class T>
  void forward(const ForwardCall<T>& c) const {
    const Extents e(from, axis);
    if (c.numel() > 0) kernels::index(c).sort(e.outer, e.size, e.inner, c.in(0), descending, c.out(), places(c));
  }
};

struct Cumsum {
  Extents e;
  int64_t axis;
  bool reverse;
  static constexpr bool saves_inputs = false;

  template <class T>
  void forward(const ForwardCall<T>& c) const {
    kernels::scan(c).cumsum(e.outer, e.size, e.inner, c.in(0), c.out(), reverse);
  }
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
