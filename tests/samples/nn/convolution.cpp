#include <cmath>

#include "nn/convolution.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck conv1d_check("Conv1d", "stride and padding", [](const Checker& check) {
  Conv1d layer(2, 3, 3, {.stride = 2, .padding = 1});
  return check(layer, {sample_normal({2, 2, 5})});
});

const ModuleCheck conv1d_without_bias("Conv1d", "groups, without bias", [](const Checker& check) {
  Conv1d layer(4, 2, 2, {.dilation = 2, .groups = 2, .bias = false});
  return check(layer, {sample_normal({1, 4, 4})});
});

const ModuleCheck conv2d_check("Conv2d", "patches", [](const Checker& check) {
  Conv2d layer(2, 3, 2, {.stride = 2});
  return check(layer, {sample_normal({2, 2, 4, 4})});
});

const ModuleCheck conv2d_depthwise("Conv2d", "depthwise", [](const Checker& check) {
  Conv2d layer(2, 2, {3, 2}, {.padding = PadTo::same, .groups = 2});
  return check(layer, {sample_normal({1, 2, 3, 3})});
});

}  // namespace
}  // namespace tape::nn
