#pragma once

#include "adam.h"

namespace tape::optim {

struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};  ///< how much of the running means is kept each step
  double eps = 1e-8;
  double weight_decay = 0.01;  ///< shrinks the parameter itself
  bool check_finite = true;    ///< refuse gradients with NaN or infinity
  MomentKind moments = MomentKind::of_parameter;
};

/// Adam with decoupled weight decay: Loshchilov and Hutter 2019, "Decoupled weight decay regularization". First
/// p = p (1 - lr weight_decay), then Adam's step from the gradient alone.
class AdamW : public Adam {
 public:
  explicit AdamW(TensorList parameters, const AdamWOptions& options = {}) : AdamW(one_group(parameters), options) {}
  explicit AdamW(const ParameterGroups& groups, const AdamWOptions& options = {});
};

}  // namespace tape::optim
