#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/reduce/scan.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

using ScanFunction = Tensor (*)(const Tensor&, int64_t);

std::vector<OpSample> scan_samples(ScanFunction f, Tensor (*values)(const Shape&, uint64_t)) {
  auto along = [f](int64_t axis) { return [=](const Tensors& in) { return f(in[0], axis); }; };
  return std::vector<OpSample>{{"rows", {values({2, 4}, 1)}, along(-1)},
                               {"middle", {values({2, 3, 2}, 2)}, along(1)},
                               {"size 1", {values({1, 3}, 3)}, along(0)},
                               {"empty", {values({0, 2}, 1)}, along(0)}};
}

std::vector<OpSample> cumprod_samples() {
  std::vector<OpSample> samples = scan_samples(cumprod, sample_normal);
  const Tensor zeros = tensor({{0, 2, -1.5, 3}, {0.5, 0, 3, 0}, {1, 2, 0, -1}}, f64);
  samples.push_back({"zeros", {zeros}, [](const Tensors& in) { return cumprod(in[0], 1); }});
  return samples;
}

const OpSamples samples_of_cumprod("cumprod", cumprod_samples);
const OpSamples samples_of_logcumsumexp("logcumsumexp", [] { return scan_samples(logcumsumexp, sample_normal); });

const OpSamples samples_of_cummax("cummax", [] {
  return scan_samples([](const Tensor& x, int64_t axis) { return cummax(x, axis).values; }, sample_distinct);
});

const OpSamples samples_of_cummin("cummin", [] {
  return scan_samples([](const Tensor& x, int64_t axis) { return cummin(x, axis).values; }, sample_distinct);
});

std::vector<OpSample> linear_scan_samples() {
  auto along = [](int64_t axis, bool reverse) {
    return [=](const Tensors& in) { return linear_scan(in[0], in[1], axis, {.reverse = reverse}); };
  };
  return std::vector<OpSample>{
      {"rows", {sample_normal({2, 4}, 1), sample_normal({2, 4}, 2)}, along(-1, false)},
      {"middle", {sample_normal({2, 3, 2}, 1), sample_normal({2, 3, 2}, 2)}, along(1, false)},
      {"reverse", {sample_normal({4, 2}, 1), sample_normal({4, 2}, 2)}, along(0, true)},
      {"aliased", {sample_normal({3})}, [](const Tensors& in) { return linear_scan(in[0], in[0], 0); }},
      {"empty", {sample_normal({0, 2}, 1), sample_normal({0, 2}, 2)}, along(0, false)}};
}

const OpSamples samples_of_linear_scan("linear_scan", linear_scan_samples);

}  // namespace
}  // namespace tape
