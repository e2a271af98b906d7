#include "nn/norm/layer_norm.h"

#include "autograd/create.h"
#include "autograd/ops/norm/norm.h"
#include "base/check.h"
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

LayerNorm::LayerNorm(int64_t width, const LayerNormOptions& options)
    : weight(this, "weight", ones({at_least_one("LayerNorm", "width", width)})),
      bias(this, "bias", options.bias ? zeros({width}) : Tensor()),
      eps_(options.eps) {
  if (!(eps_ >= 0)) raise(ErrorKind::config, "LayerNorm: eps must not be negative, got {}", eps_);
}

Tensor LayerNorm::forward(const Tensor& x) const { return layer_norm(x, weight, bias, eps_); }

std::string LayerNorm::settings() const { return fmt::format("{}, eps {}", weight.size(0), eps_); }

}  // namespace tape::nn
