#pragma once

#include "../module/child.h"

namespace tape::nn {

/// Options of LayerNorm.
struct LayerNormOptions {
  double eps = 1e-5;  ///< added to the variance
  bool bias = true;   ///< whether there is a bias
};

/// y = (x - mean) / sqrt(var + eps) * weight + bias over the last axis (Ba et al. 2016): x [..., C] -> [..., C]; weight
/// [C] starts at one, bias [C] at zero. Throws Error (shape) for another width, Error (dtype) if the dtype differs from
/// the weight's.
class LayerNorm : public Layer<LayerNorm> {
 public:
  using Options = LayerNormOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for a width below 1 or a negative eps.
  explicit LayerNorm(int64_t width, const LayerNormOptions& options = {});
  /// Returns y: x [..., C] -> [..., C].
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;  ///< as in "512, eps 1e-05"
  double eps() const { return eps_; }     ///< added to the variance

  Parameter weight,  ///< [C]
      bias;          ///< [C]; undefined without bias

 private:
  double eps_;
};

}  // namespace tape::nn
