#pragma once

#include "../module/child.h"

namespace tape::nn {

/// Options of RMSNorm.
struct RMSNormOptions {
  double eps = 1e-6;  ///< added to the mean square
};

/// y = x / sqrt(mean(x^2) + eps) * weight over the last axis, LayerNorm without centering and bias (Zhang and Sennrich
/// 2019): x [..., C] -> [..., C]; weight [C] starts at one. Throws as LayerNorm.
class RMSNorm : public Layer<RMSNorm> {
 public:
  using Options = RMSNormOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for a width below 1 or a negative eps.
  explicit RMSNorm(int64_t width, const RMSNormOptions& options = {});
  /// Returns y: x [..., C] -> [..., C].
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;  ///< as in "512, eps 1e-06"
  double eps() const { return eps_; }     ///< added to the mean square

  Parameter weight;  ///< [C]

 private:
  double eps_;
};

}  // namespace tape::nn
