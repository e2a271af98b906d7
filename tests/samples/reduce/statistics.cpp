#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/statistics.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> nansum_samples() {
  const Tensor x = tensor({{1, NAN, -2}, {NAN, NAN, 0.5}}, f64);
  auto over = [x](const Axes& axes, Dims dims) {
    // NaN is appended to the input: finite differences of it would be NaN.
    return [=](const Tensors& in) {
      return nansum(where(isnan(x.to(in[0].dtype())), x.to(in[0].dtype()), in[0]), axes, dims);
    };
  };
  return std::vector<OpSample>{{"all", {sample_normal({2, 3})}, over({}, Dims::drop)},
                               {"rows", {sample_normal({2, 3})}, over(1, Dims::keep)},
                               {"columns", {sample_normal({2, 3})}, over(0, Dims::drop)}};
}

const OpSamples samples_of_nansum("nansum", nansum_samples);

std::vector<OpSample> median_samples() {
  auto along = [](int64_t axis, Dims dims) {
    return [=](const Tensors& in) { return median(in[0], axis, dims).values; };
  };
  return std::vector<OpSample>{{"rows", {sample_distinct({3, 5})}, along(-1, Dims::keep)},
                               {"even count", {sample_distinct({2, 3})}, along(0, Dims::drop)},
                               {"all", {sample_distinct({2, 3})}, [](const Tensors& in) { return median(in[0]); }}};
}

const OpSamples samples_of_median("median", median_samples);

std::vector<OpSample> norm_samples() {
  auto of = [](double p, const Axes& axes, Dims dims) {
    return [=](const Tensors& in) { return norm(in[0], p, axes, dims); };
  };
  return std::vector<OpSample>{{"p = 2", {sample_distinct({2, 3})}, of(2, {}, Dims::drop)},
                               {"rows", {sample_distinct({2, 3, 2})}, of(2, -1, Dims::keep)},
                               {"p = 1", {sample_distinct({2, 3})}, of(1, 0, Dims::drop)},
                               {"p = 3, separate axes", {sample_distinct({2, 3, 2})}, of(3, {0, 2}, Dims::drop)},
                               {"p below 2", {sample_distinct({3, 2})}, of(1.5, 1, Dims::drop)},
                               {"p below 1", {sample_distinct({2, 2})}, of(0.5, 0, Dims::drop)},
                               {"p below 0", {sample_distinct({2, 2})}, of(-1.5, 1, Dims::drop)}};
}

const OpSamples samples_of_norm("norm", norm_samples);

}  // namespace
}  // namespace tape
