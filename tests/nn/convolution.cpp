#include "nn/convolution.h"

#include <cmath>

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(ConvLayers, AgreeWithTorch) {
  Conv1d strided(3, 4, 3, {.stride = 2, .padding = 1}), grouped(4, 2, 2, {.dilation = 2, .groups = 2, .bias = false});
  Conv2d plane(3, 5, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}}),
      depthwise(4, 4, 3, {.padding = PadTo::same, .groups = 4});
  expect_agrees_with_torch("convolution_layers", "conv1d", strided);
  expect_agrees_with_torch("convolution_layers", "conv1d no bias", grouped);
  expect_agrees_with_torch("convolution_layers", "conv2d", plane);
  expect_agrees_with_torch("convolution_layers", "conv2d depthwise", depthwise);
}

/// All values are within 1 / sqrt(3 * 5 * 5), and some are close to it.
TEST(ConvLayers, AreInitializedUniformlyByFanIn) {
  const Conv2d layer(6, 40, 5, {.groups = 2});
  const double bound = 1 / std::sqrt(75.0);
  EXPECT_LE(largest(layer.weight), bound);
  EXPECT_GT(largest(layer.weight), 0.95 * bound);
  EXPECT_LE(largest(layer.bias), bound);
  EXPECT_GT(largest(layer.bias), 0.5 * bound);
}

TEST(ConvLayers, PrintTheirSettings) {
  EXPECT_EQ(Conv1d(3, 8, 5).settings(), "3 -> 8, kernel [5]");
  EXPECT_EQ(Conv2d(4, 8, 3, {.stride = 2, .padding = 1, .dilation = {1, 2}, .groups = 2, .bias = false}).settings(),
            "4 -> 8, kernel [3, 3], stride [2, 2], padding [1, 1], dilation [1, 2], groups 2, no bias");
  EXPECT_EQ(Conv1d(3, 8, 5, {.padding = PadTo::same}).settings(), "3 -> 8, kernel [5], padding same");
}

TEST(ConvLayers, RefuseInvalidSizes) {
  EXPECT_TAPE_ERROR(Conv1d(0, 1, 1), ErrorKind::config, "Conv1d: in must be at least 1, got 0");
  EXPECT_TAPE_ERROR(Conv2d(1, 1, 1, {.groups = 0}), ErrorKind::config, "Conv2d: groups must be at least 1, got 0");
  EXPECT_TAPE_ERROR(Conv2d(4, 6, 1, {.groups = 3}), ErrorKind::config,
                    "Conv2d: groups 3 must divide the channels 4 -> 6");
  EXPECT_TAPE_ERROR(Conv2d(1, 1, 0), ErrorKind::config, "Conv2d: kernel must be in [1, 2147483647], got 0");
  EXPECT_TAPE_ERROR(Conv1d(1, 1, {1, 2}), ErrorKind::config, "Conv1d: kernel has 2 sizes for 1 axes");
  EXPECT_TAPE_ERROR(Conv2d(1, 1, 1, {.stride = {1, 2, 3}}), ErrorKind::config, "Conv2d: stride has 3 sizes for 2 axes");
  EXPECT_TAPE_ERROR(Conv1d(1, 1, 1, {.padding = -1}), ErrorKind::config,
                    "Conv1d: padding must be in [0, 2147483647], got -1");
  Conv1d layer(3, 2, 2);
  EXPECT_TAPE_ERROR(layer(zeros({2, 4, 5})), ErrorKind::shape,
                    "conv1d: weight [2, 3, 2] takes 3 channels in 1 group, x [2, 4, 5] has 4");
}

}  // namespace
}  // namespace tape::nn
