#include <cmath>

#include "nn/attention/relative_attention.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck relative_self_attention("RelativeAttention", "self", [](const Checker& check) {
  RelativeAttention layer(4, 2, {.max_distance = 2, .dropout = 0.2});
  return check(layer, {sample_normal({2, 4, 4})}, "key.bias");
});

const ModuleCheck relative_cross_attention("RelativeAttention", "cross", [](const Checker& check) {
  RelativeAttention layer(4, 2, {.max_distance = 1, .bias = false});
  return check(layer, {sample_normal({2, 3, 4}, 1), sample_normal({2, 4, 4}, 2), sample_normal({2, 4, 4}, 3)});
});

}  // namespace
}  // namespace tape::nn
