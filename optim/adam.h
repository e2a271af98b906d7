#pragma once

#include <array>

#include "../autograd/ops/kernel_call.h"
#include "optimizer.h"

namespace tape::optim {

/// Dtype of Adam's running means.
enum class MomentDtype {
  parameter_dtype,  ///< the parameter's dtype
  bf16              ///< bf16 for f32 parameters, half the memory; see Adam
};

/// Options of Adam.
struct AdamOptions {
  double lr = 1e-3;                                    ///< learning rate, finite and >= 0
  std::array<double, 2> betas = {0.9, 0.999};          ///< decay rates of the running means
  double eps = 1e-8;                                   ///< added to the denominator
  double weight_decay = 0;                             ///< L2 penalty: adds weight_decay p to the gradient
  bool check_finite = true;                            ///< rejects gradients with NaN or infinity
  MomentDtype moments = MomentDtype::parameter_dtype;  ///< dtype of m and v
};

/// Adam (Kingma and Ba 2015, "Adam: a method for stochastic optimization", algorithm 1). With t counting the steps of a
/// parameter from 1 and m, v initially zero:
///
///     g = gradient + weight_decay p
///     m = beta1 m + (1 - beta1) g
///     v = beta2 v + (1 - beta2) g^2
///     p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
///
/// Vaswani et al. 2017, section 5.3, use betas 0.9 and 0.98 and eps 1e-9. Throws Error (config) unless 0 <= beta < 1,
/// eps >= 0, weight_decay >= 0. The state of a parameter is "m", "v" and "step".
///
/// With MomentDtype::bf16, m and v of f32 parameters are bf16 and take 4 bytes per value instead of 8. A step computes
/// in f32 and rounds them stochastically, so that even small increments accumulate on average. (With rounding to
/// nearest, v would never decay: beta2 = 0.999 removes 1/1000 per step, and bf16 has a resolution of 1/256.) The random
/// bits are a function of step, parameter and position, so results do not depend on the number of threads or on a
/// resume.
class Adam : public Optimizer {
 public:
  /// Takes parameters as one group, or groups with their own settings. Throws Error (config) for parameters that
  /// Optimizer rejects and for options out of range.
  /// @{
  explicit Adam(TensorList parameters, const AdamOptions& options = {}) : Adam(one_group(parameters), options) {}
  explicit Adam(const ParameterGroups& groups, const AdamOptions& options = {})
      : Adam("Adam", groups, options, false) {}
  /// @}

 protected:
  /// For derived classes: `name` is the class name in errors; `decoupled` applies weight decay as AdamW does.
  Adam(const char* name, const ParameterGroups& groups, const AdamOptions& options, bool decoupled);

 private:
  void update(const std::vector<Update>& updates, const Tensor& scale) override;
  void update(const KernelCall& at, const std::vector<Update>& updates, const Tensor& scale);

  AdamOptions options_;
  bool decoupled_;
};

}  // namespace tape::optim
