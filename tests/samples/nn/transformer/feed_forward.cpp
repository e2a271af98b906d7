#include "nn/transformer/feed_forward.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck gelu_dropout("FeedForward", "gelu with dropout", [](const Checker& check) {
  FeedForward layer(3, 5, {.activation = ActivationKind::gelu, .dropout = 0.3});
  return check(layer, {sample_normal({2, 4, 3})});
});

}  // namespace
}  // namespace tape::nn
