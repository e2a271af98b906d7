#include <cmath>

#include "autograd/ops/convolution/pooling.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

using MaxPoolFunction = Tensor (*)(const Tensor&, const SpatialSizes&, const MaxPoolOptions&);

using AvgPoolFunction = Tensor (*)(const Tensor&, const SpatialSizes&, const AvgPoolOptions&);

OpSample max_pool_sample(const char* label, MaxPoolFunction f, const Shape& x, const SpatialSizes& kernel,
                         const MaxPoolOptions& options = {}) {
  return {label, {sample_distinct(x)}, [=](const Tensors& in) { return f(in[0], kernel, options); }};
}

OpSample avg_pool_sample(const char* label, AvgPoolFunction f, const Shape& x, const SpatialSizes& kernel,
                         const AvgPoolOptions& options = {}) {
  return {label, {sample_normal(x)}, [=](const Tensors& in) { return f(in[0], kernel, options); }};
}

std::vector<OpSample> max_pool1d_samples() {
  return {max_pool_sample("halves", max_pool1d, {2, 2, 6}, 2),
          max_pool_sample("unbatched, overlapping", max_pool1d, {2, 7}, 3, {.stride = 2, .padding = 1}),
          max_pool_sample("dilation", max_pool1d, {1, 2, 7}, 2, {.stride = 1, .dilation = 3}),
          max_pool_sample("empty batch", max_pool1d, {0, 2, 4}, 2)};
}

std::vector<OpSample> max_pool2d_samples() {
  return {max_pool_sample("halves", max_pool2d, {2, 2, 4, 4}, 2),
          max_pool_sample("overlapping", max_pool2d, {1, 2, 5, 6}, {3, 2}, {.stride = {2, 1}, .padding = 1}),
          max_pool_sample("unbatched, ceil mode", max_pool2d, {2, 5, 5}, 2, {.ceil_mode = true}),
          max_pool_sample("empty batch", max_pool2d, {0, 2, 4, 4}, 2)};
}

std::vector<OpSample> avg_pool1d_samples() {
  return {avg_pool_sample("halves", avg_pool1d, {2, 2, 6}, 2),
          avg_pool_sample("unbatched, overlapping", avg_pool1d, {2, 7}, 3, {.stride = 2, .padding = 1}),
          avg_pool_sample("empty batch", avg_pool1d, {0, 2, 4}, 2)};
}

std::vector<OpSample> avg_pool2d_samples() {
  return {avg_pool_sample("halves", avg_pool2d, {2, 2, 4, 4}, 2),
          avg_pool_sample("overlapping", avg_pool2d, {1, 2, 5, 6}, {3, 2}, {.stride = {2, 1}, .padding = 1}),
          avg_pool_sample("padding not counted, ceil mode", avg_pool2d, {2, 4, 4}, 3,
                          {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false}),
          avg_pool_sample("empty batch", avg_pool2d, {0, 2, 4, 4}, 2)};
}

const OpSamples samples_of_max_pool1d("max_pool1d", max_pool1d_samples);
const OpSamples samples_of_max_pool2d("max_pool2d", max_pool2d_samples);
const OpSamples samples_of_avg_pool1d("avg_pool1d", avg_pool1d_samples);
const OpSamples samples_of_avg_pool2d("avg_pool2d", avg_pool2d_samples);

}  // namespace
}  // namespace tape
