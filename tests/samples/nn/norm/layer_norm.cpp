#include "nn/norm/layer_norm.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck layer_norm_last_axis("LayerNorm", "last axis", [](const Checker& check) {
  LayerNorm layer(5);
  return check(layer, {sample_normal({2, 3, 5})});
});

const ModuleCheck layer_norm_without_bias("LayerNorm", "without bias", [](const Checker& check) {
  LayerNorm layer(4, {.eps = 1e-12, .bias = false});
  return check(layer, {sample_normal({3, 4})});
});

}  // namespace
}  // namespace tape::nn
