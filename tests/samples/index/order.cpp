#include "autograd/ops/index/order.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/tape/op.h"

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

const OpSamples samples_of_topk("topk", topk_samples);

std::vector<OpSample> sort_samples() {
  auto along = [](int64_t axis, bool descending) {
    return [=](const Tensors& in) { return sort(in[0], axis, {.descending = descending}).values * in[0]; };
  };
  return std::vector<OpSample>{{"rows", {sample_distinct({3, 4})}, along(-1, false)},
                               {"middle, descending", {sample_distinct({2, 3, 2})}, along(1, true)},
                               {"empty", {sample_distinct({2, 0})}, along(1, false)}};
}

const OpSamples samples_of_sort("sort", sort_samples);

std::vector<OpSample> cumsum_samples() {
  auto along = [](int64_t axis, bool reverse) {
    return [=](const Tensors& in) { return cumsum(in[0], axis, {.reverse = reverse}); };
  };
  return std::vector<OpSample>{{"rows", {sample_normal({2, 4})}, along(-1, false)},
                               {"middle", {sample_normal({2, 3, 2})}, along(1, false)},
                               {"reverse", {sample_normal({4, 2})}, along(0, true)},
                               {"empty", {sample_normal({0, 2})}, along(0, false)}};
}

const OpSamples samples_of_cumsum("cumsum", cumsum_samples);

}  // namespace
}  // namespace tape
