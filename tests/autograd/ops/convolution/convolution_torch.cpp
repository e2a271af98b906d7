// Convolution, pooling, group and batch normalization against the reference values of
// tests/fixtures/make_convolutions.py.

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/convolution/convolution.h"
#include "autograd/ops/convolution/pooling.h"
#include "autograd/ops/norm/batch_norm.h"
#include "autograd/ops/norm/group_norm.h"
#include "tests/autograd/ops/torch_fixture.h"

namespace tape {
namespace {

template <class F>
TorchCall convolution_call(F f, const ConvOptions& options = {}) {
  return [=](const Tensors& in) -> Tensors { return {f(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options)}; };
}

TorchCalls convolution_calls() {
  return {
      {"conv2d_plain", convolution_call(conv2d)},
      {"conv2d_strides", convolution_call(conv2d, {.stride = {2, 3}, .padding = {1, 2}})},
      {"conv2d_same", convolution_call(conv2d, {.padding = PadTo::same, .dilation = {1, 2}})},
      {"conv2d_valid", convolution_call(conv2d, {.padding = PadTo::valid})},
      {"conv2d_groups", convolution_call(conv2d, {.padding = 1, .dilation = 2, .groups = 2})},
      {"conv2d_depthwise", convolution_call(conv2d, {.padding = 1, .groups = 4})},
      {"conv2d_depthwise_strides", convolution_call(conv2d, {.stride = 2, .padding = 1, .groups = 4})},
      {"conv2d_depthwise_wide", convolution_call(conv2d, {.padding = 3, .dilation = {1, 2}, .groups = 4})},
      {"conv2d_patches", convolution_call(conv2d, {.stride = {2, 3}})},
      {"conv2d_single", convolution_call(conv2d)},
      {"conv2d_single_strides", convolution_call(conv2d, {.stride = 2})},
      {"conv2d_wide_padding", convolution_call(conv2d, {.stride = 2, .padding = 3})},
      {"conv2d_unbatched", convolution_call(conv2d)},
      {"conv1d_plain", convolution_call(conv1d)},
      {"conv1d_whisper", convolution_call(conv1d, {.stride = 2, .padding = 1})},
      {"conv1d_same", convolution_call(conv1d, {.padding = PadTo::same, .dilation = 2})},
      {"conv1d_depthwise", convolution_call(conv1d, {.padding = 3, .groups = 4})},
      {"conv1d_groups", convolution_call(conv1d, {.dilation = 3, .groups = 2})},
      {"conv1d_unbatched", convolution_call(conv1d)},
  };
}

template <class F>
TorchCall max_pool_call(F f, const SpatialSizes& kernel, const MaxPoolOptions& options = {}) {
  return [=](const Tensors& in) -> Tensors {
    const MaxPool best = f(in[0], kernel, options);
    return {best.values, best.indices};
  };
}
template <class F>
TorchCall avg_pool_call(F f, const SpatialSizes& kernel, const AvgPoolOptions& options = {}) {
  return [=](const Tensors& in) -> Tensors { return {f(in[0], kernel, options)}; };
}

TorchCalls pool_calls() {
  const auto max2 = max_pool2d_with_indices, max1 = max_pool1d_with_indices;
  return {
      {"max_pool2d_halves", max_pool_call(max2, 2)},
      {"max_pool2d_overlapping", max_pool_call(max2, {3, 2}, {.stride = {2, 1}, .padding = 1})},
      {"max_pool2d_dilation", max_pool_call(max2, 2, {.stride = 1, .padding = 1, .dilation = {2, 3}})},
      {"max_pool2d_ceil", max_pool_call(max2, 3, {.stride = 2, .ceil_mode = true})},
      {"max_pool2d_ceil_padding", max_pool_call(max2, 3, {.stride = 3, .padding = 1, .ceil_mode = true})},
      {"max_pool2d_ties", max_pool_call(max2, 3, {.stride = 1, .padding = 1})},
      {"max_pool1d", max_pool_call(max1, 3, {.stride = 2, .padding = 1})},
      {"max_pool1d_nan", max_pool_call(max1, 2, {.stride = 1})},
      {"max_pool1d_unbatched", max_pool_call(max1, 2)},
      {"avg_pool2d_halves", avg_pool_call(avg_pool2d, 2)},
      {"avg_pool2d_overlapping", avg_pool_call(avg_pool2d, {3, 2}, {.stride = {2, 1}, .padding = 1})},
      {"avg_pool2d_not_counted", avg_pool_call(avg_pool2d, 3, {.stride = 2, .padding = 1, .count_include_pad = false})},
      {"avg_pool2d_ceil", avg_pool_call(avg_pool2d, 3, {.stride = 2, .ceil_mode = true})},
      {"avg_pool2d_ceil_padding",
       avg_pool_call(avg_pool2d, {4, 3}, {.stride = 3, .padding = {2, 1}, .ceil_mode = true})},
      {"avg_pool2d_ceil_not_counted",
       avg_pool_call(avg_pool2d, {4, 3},
                     {.stride = 3, .padding = {2, 1}, .ceil_mode = true, .count_include_pad = false})},
      {"avg_pool1d", avg_pool_call(avg_pool1d, 3, {.stride = 2, .padding = 1})},
      {"avg_pool1d_ceil",
       avg_pool_call(avg_pool1d, 4, {.stride = 3, .padding = 2, .ceil_mode = true, .count_include_pad = false})},
      {"adaptive_avg_pool1d", [](auto& in) -> Tensors { return {adaptive_avg_pool1d(in[0], 4)}; }},
      {"adaptive_avg_pool2d",
       [](auto& in) -> Tensors {
         return {adaptive_avg_pool2d(in[0], {4, 3})};
       }},
      {"adaptive_avg_pool2d_even",
       [](auto& in) -> Tensors {
         return {adaptive_avg_pool2d(in[0], {3, 1})};
       }},
  };
}

Tensors trained(const Tensors& in) {
  const Tensor mean = linspace(-1, 1, 6, f64).to(in[0].dtype()).clone(),
               var = linspace(0.5, 3, 6, f64).to(in[0].dtype()).clone();
  const Tensor y = batch_norm(in[0], mean, var, in[1], in[2], {.training = true, .momentum = 0.3});
  return {y, mean, var};
}

TorchCalls norm_calls() {
  return {{"group_norm", [](auto& in) -> Tensors { return {group_norm(in[0], 3, in[1], in[2])}; }},
          {"group_norm_plain", [](auto& in) -> Tensors { return {group_norm(in[0], 1, {}, {}, 0.1)}; }},
          {"group_norm_no_positions", [](auto& in) -> Tensors { return {group_norm(in[0], 2, in[1], in[2])}; }},
          {"batch_norm", trained},
          {"batch_norm_rows", trained},
          {"batch_norm_sequence", trained},
          {"batch_norm_plain",
           [](auto& in) -> Tensors { return {batch_norm(in[0], {}, {}, {}, {}, {.training = true, .eps = 0.1})}; }},
          {"batch_norm_running", [](auto& in) -> Tensors {
             const DType dtype = in[0].dtype();
             return {batch_norm(in[0], linspace(-1, 1, 6, dtype), linspace(0.5, 3, 6, dtype), in[1], in[2])};
           }}};
}

const TorchCalls& spatial_calls() {
  static const TorchCalls all = [] {
    TorchCalls merged;
    for (TorchCalls part : {convolution_calls(), pool_calls(), norm_calls()}) merged.merge(part);
    return merged;
  }();
  return all;
}

class ConvolutionsAgainstPyTorch : public testing::TestWithParam<std::string> {};

TEST_P(ConvolutionsAgainstPyTorch, MatchValuesAndGradients) {
  expect_as_pytorch("convolutions", GetParam(), spatial_calls().at(GetParam()));
}

TEST_P(ConvolutionsAgainstPyTorch, MatchComposedValuesAndGradients) {
  const Composed composed;
  expect_as_pytorch("convolutions", GetParam(), spatial_calls().at(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Cases, ConvolutionsAgainstPyTorch, testing::ValuesIn(case_names(spatial_calls())),
                         [](const auto& name) { return name.param; });

TEST(ConvolutionsAgainstPyTorchCases, CoverTheWholeFixture) { expect_all_called("convolutions", spatial_calls()); }

}  // namespace
}  // namespace tape
