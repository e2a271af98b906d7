#pragma once

#include "../module/child.h"

namespace tape::nn {

struct RMSNormOptions {
  double eps = 1e-6;
};

/// y = x / sqrt(mean(x^2) + eps) * weight over the last axis, LayerNorm without centering and bias (Zhang and Sennrich
/// 2019): x [..., C] -> [..., C]; weight [C] starts at one. Throws as LayerNorm.
class RMSNorm : public Layer<RMSNorm> {
 public:
  using Options = RMSNormOptions;

  /// Throws Error (config) for a width below 1 or a negative eps.
  explicit RMSNorm(int64_t width, const RMSNormOptions& options = {});
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;
  double eps() const { return eps_; }

  Parameter weight;

 private:
  double eps_;
};

}  // namespace tape::nn
