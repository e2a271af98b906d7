#include "nn/transformer/gated_feed_forward.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck swiglu("GatedFeedForward", "SwiGLU", [](const Checker& check) {
  GatedFeedForward layer(3, 5);
  return check(layer, {sample_normal({2, 4, 3})});
});

const ModuleCheck geglu("GatedFeedForward", "GEGLU with bias and dropout", [](const Checker& check) {
  GatedFeedForward layer(3, 5, {.activation = ActivationKind::gelu, .dropout = 0.3, .bias = true});
  return check(layer, {sample_normal({2, 4, 3})});
});

}  // namespace
}  // namespace tape::nn
