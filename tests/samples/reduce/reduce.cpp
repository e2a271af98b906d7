#include <cmath>

#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

template <class F>
std::function<std::vector<OpSample>()> reduction_samples(F f, Tensor (*values)(const Shape&, uint64_t)) {
  return [=] {
    const auto over = [&](const char* label, const Shape& shape, const Axes& axes, Dims dims) {
      return OpSample{label, {values(shape, 1)}, [=](const Tensors& in) { return f(in[0], axes, dims); }};
    };
    return std::vector{over("all", {2, 3, 4}, {}, Dims::drop),
                       over("last", {2, 3, 4}, -1, Dims::keep),
                       over("first", {2, 3, 4}, 0, Dims::drop),
                       over("middle", {2, 3, 4}, 1, Dims::drop),
                       over("separate axes", {2, 3, 4}, {0, 2}, Dims::keep),
                       over("separate axes, dropped", {2, 3, 4, 2}, {1, 3}, Dims::drop),
                       over("rank 0", {}, {}, Dims::drop),
                       over("size 1", {1, 3}, 0, Dims::drop)};
  };
}

const OpSamples samples_of_sum("sum", reduction_samples([](auto& x, auto& axes, Dims d) { return sum(x, axes, d); },
                                                        sample_normal));

const OpSamples samples_of_max("max", reduction_samples([](auto& x, auto& axes, Dims d) { return max(x, axes, d); },
                                                        sample_distinct));

const OpSamples samples_of_min("min", reduction_samples([](auto& x, auto& axes, Dims d) { return min(x, axes, d); },
                                                        sample_distinct));

const OpSamples samples_of_logsumexp(
    "logsumexp", reduction_samples([](auto& x, auto& axes, Dims d) { return logsumexp(x, axes, d); }, sample_normal));

std::vector<OpSample> var_samples() {
  auto over = [](const Axes& axes, const VarOptions& options) {
    return [=](const Tensors& in) { return var(in[0], axes, options); };
  };
  return std::vector<OpSample>{{"all", {sample_normal({2, 3})}, over({}, {})},
                               {"biased", {sample_normal({2, 3, 2})}, over(1, {.correction = 0, .dims = Dims::keep})},
                               {"separate axes", {sample_normal({2, 3, 2})}, over({0, 2}, {})}};
}

const OpSamples samples_of_var("var", var_samples);

}  // namespace
}  // namespace tape
