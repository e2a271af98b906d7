#include "nn/norm/layer_norm.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/norm/norm.h"
#include "base/check.h"

namespace tape::nn {

LayerNorm::LayerNorm(int64_t width, const LayerNormOptions& options)
    : weight(this, "weight", ones({at_least_one("LayerNorm", "width", width)})),
      bias(this, "bias", options.bias ? zeros({width}) : Tensor()),
      eps_(options.eps) {
  if (!(eps_ >= 0)) raise(ErrorKind::config, "LayerNorm: eps must not be negative, got {}", eps_);
}

Tensor LayerNorm::forward(const Tensor& x) const { return layer_norm(x, weight, bias, eps_); }

std::string LayerNorm::settings() const { return fmt::format("{}, eps {}", weight.size(0), eps_); }

}  // namespace tape::nn
