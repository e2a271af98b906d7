#pragma once

#include "adam.h"

namespace tape::optim {

/// Options of AdamW.
struct AdamWOptions {
  double lr = 1e-3;                                    ///< learning rate, finite and >= 0
  std::array<double, 2> betas = {0.9, 0.999};          ///< decay rates of the running means
  double eps = 1e-8;                                   ///< added to the denominator
  double weight_decay = 0.01;                          ///< applied to the parameter itself
  bool check_finite = true;                            ///< rejects gradients with NaN or infinity
  MomentDtype moments = MomentDtype::parameter_dtype;  ///< dtype of m and v
};

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019, "Decoupled weight decay regularization"): first
/// p = p (1 - lr weight_decay), then Adam's step with the plain gradient.
class AdamW : public Adam {
 public:
  /// Takes parameters as one group, or groups with their own settings. Throws as Adam.
  /// @{
  explicit AdamW(TensorList parameters, const AdamWOptions& options = {}) : AdamW(one_group(parameters), options) {}
  explicit AdamW(const ParameterGroups& groups, const AdamWOptions& options = {});
  /// @}
};

}  // namespace tape::optim
