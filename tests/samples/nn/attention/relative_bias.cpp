#include <cmath>

#include "nn/attention/attention.h"
#include "nn/attention/relative_bias.h"
#include "nn/gradcheck/check.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

/// Attention with its bias, like a layer of T5.
struct Biased : Module {
  Child<RelativeBias> bias;
  Child<MultiHeadAttention> attention;
  explicit Biased(const RelativeBiasOptions& options)
      : bias(this, "bias", 2, options),
        attention(this, "attention", 4, 2, MultiHeadAttentionOptions{.bias = false, .scale = 1}) {}
  Tensor forward(const Tensor& x) {
    const int64_t length = x.size(1);
    return attention(x, Mask::additive(bias(length, length)));
  }
};

const ModuleCheck bias_both("RelativeBias", "both directions", [](const Checker& check) {
  Biased layer({.buckets = 8, .max_distance = 4});
  return check(layer, {sample_normal({2, 5, 4})});
});

const ModuleCheck bias_past("RelativeBias", "past only", [](const Checker& check) {
  Biased layer({.buckets = 3, .max_distance = 4, .direction = RelativeDirection::past});
  return check(layer, {sample_normal({2, 5, 4})});
});

}  // namespace
}  // namespace tape::nn
