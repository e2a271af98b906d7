#include "nn/transformer/pooling.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck max_pool1d_check("MaxPool1d", "overlapping", [](const Checker& check) {
  MaxPool1d layer(3, {.stride = 2, .padding = 1});
  return check(layer, {sample_distinct({2, 2, 6})});
});

const ModuleCheck max_pool2d_check("MaxPool2d", "halves", [](const Checker& check) {
  MaxPool2d layer(2);
  return check(layer, {sample_distinct({1, 2, 4, 4})});
});

const ModuleCheck avg_pool1d_check("AvgPool1d", "overlapping", [](const Checker& check) {
  AvgPool1d layer(3, {.stride = 2, .padding = 1});
  return check(layer, {sample_normal({2, 2, 6})});
});

const ModuleCheck avg_pool2d_check("AvgPool2d", "halves", [](const Checker& check) {
  AvgPool2d layer(2);
  return check(layer, {sample_normal({1, 2, 4, 4})});
});

}  // namespace
}  // namespace tape::nn
