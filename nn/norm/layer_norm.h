#pragma once

#include "../module/child.h"

namespace tape::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool bias = true;
};

/// y = (x - mean) / sqrt(var + eps) * weight + bias over the last axis (Ba et al. 2016): x [..., C] -> [..., C]; weight
/// [C] starts at one, bias [C] at zero. Throws Error (shape) for another width, Error (dtype) if the dtype differs from
/// the weight's.
class LayerNorm : public Layer<LayerNorm> {
 public:
  using Options = LayerNormOptions;

  /// Throws Error (config) for a width below 1 or a negative eps.
  explicit LayerNorm(int64_t width, const LayerNormOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;
  double eps() const { return eps_; }

  Parameter weight, bias;

 private:
  double eps_;
};

}  // namespace tape::nn
