#include "nn/transformer/pooling.h"

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

TEST(PoolLayers, AgreeWithTorch) {
  MaxPool1d max1(3, {.stride = 2, .padding = 1});
  MaxPool2d max2(2, {.ceil_mode = true});
  AvgPool1d avg1(3, {.stride = 2, .padding = 1, .count_include_pad = false});
  AvgPool2d avg2({2, 3});
  expect_agrees_with_torch("convolution_layers", "max pool1d", max1);
  expect_agrees_with_torch("convolution_layers", "max pool2d", max2);
  expect_agrees_with_torch("convolution_layers", "avg pool1d", avg1);
  expect_agrees_with_torch("convolution_layers", "avg pool2d", avg2);
}

TEST(PoolLayers, PrintTheirSettings) {
  EXPECT_EQ(MaxPool2d(2).settings(), "kernel [2, 2]");
  EXPECT_EQ(MaxPool1d(3, {.stride = 1, .padding = 1, .dilation = 2, .ceil_mode = true}).settings(),
            "kernel [3], stride [1], padding [1], dilation [2], ceil mode");
  EXPECT_EQ(AvgPool1d(2, {.padding = 1, .count_include_pad = false}).settings(),
            "kernel [2], padding [1], padding not counted");
  EXPECT_EQ(AvgPool2d({2, 3}).settings(), "kernel [2, 3]");
}

TEST(PoolLayers, RefuseInvalidSizes) {
  EXPECT_TAPE_ERROR(MaxPool1d(0), ErrorKind::config, "MaxPool1d: kernel must be in [1, 2147483647], got 0");
  EXPECT_TAPE_ERROR(MaxPool2d(2, {.stride = 0}), ErrorKind::config,
                    "MaxPool2d: stride must be in [1, 2147483647], got 0");
  EXPECT_TAPE_ERROR(AvgPool1d(2, {.padding = -1}), ErrorKind::config,
                    "AvgPool1d: padding must be in [0, 2147483647], got -1");
  EXPECT_TAPE_ERROR(AvgPool2d({1, 2, 3}), ErrorKind::config, "AvgPool2d: kernel has 3 sizes for 2 axes");
}

}  // namespace
}  // namespace tape::nn
