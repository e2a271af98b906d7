#pragma once

#include "../module/child.h"

namespace tape::nn {

/// Options of GroupNorm.
struct GroupNormOptions {
  double eps = 1e-5;   ///< added to the variance
  bool affine = true;  ///< whether there are weight and bias
};

/// y = (x - mean) / sqrt(var + eps) * weight + bias over each group of channels (Wu and He 2018): x [N, C, ...] -> the
/// same; weight [C] starts at one, bias [C] at zero. Throws as group_norm().
class GroupNorm : public Layer<GroupNorm> {
 public:
  using Options = GroupNormOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for sizes below 1, groups that do not divide the channels, or a negative eps.
  GroupNorm(int64_t groups, int64_t channels, const GroupNormOptions& options = {});
  /// Returns y: x [N, C, ...] -> the same shape. Throws Error (shape) for another number of channels.
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;  ///< as in "8 groups, 64, eps 1e-05"

  Parameter weight,  ///< [C]; undefined without `affine`
      bias;          ///< [C]; undefined without `affine`

 private:
  int64_t groups_, channels_;
  double eps_;
};

}  // namespace tape::nn
