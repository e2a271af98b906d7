#pragma once

#include "module.h"

namespace tape::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool bias = true;
};

/// y = (x - mean) / sqrt(var + eps) * weight + bias over the last axis [..., C] (Ba et al. 2016); weight starts at one,
/// bias at zero.
class LayerNorm : public Layer<LayerNorm> {
 public:
  explicit LayerNorm(int64_t width, const LayerNormOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;
  double eps() const { return eps_; }

  Parameter weight, bias;

 private:
  double eps_;
};

}  // namespace tape::nn
