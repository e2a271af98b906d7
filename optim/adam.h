#pragma once

#include <array>

#include "optimizer.h"

namespace tape::optim {

/// What Adam's running means are kept as.
enum class MomentKind {
  of_parameter,  ///< in the parameter's dtype
  bf16           ///< of f32 parameters in half the memory; see Adam
};

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};  ///< how much of the running means is kept each step
  double eps = 1e-8;
  double weight_decay = 0;   ///< L2: added to the gradient, times the parameter
  bool check_finite = true;  ///< refuse gradients with NaN or infinity
  MomentKind moments = MomentKind::of_parameter;
};

/// Adam: Kingma and Ba 2015, "Adam: a method for stochastic optimization", algorithm 1. With t counting the steps of a
/// parameter from 1 and m, v zero before the first:
///
///     g = gradient + weight_decay p
///     m = beta1 m + (1 - beta1) g
///     v = beta2 v + (1 - beta2) g^2
///     p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
///
/// Vaswani et al. 2017, 5.3, use betas 0.9 and 0.98 and eps 1e-9. Error (config) unless 0 <= beta < 1, eps >= 0,
/// weight_decay >= 0. The state of a parameter is "m", "v" and "step".
///
/// With MomentKind::bf16, m and v of f32 parameters are bf16: 4 bytes a value in place of 8. A step computes in f32 and
/// rounds them stochastically, so that what it adds counts on average however small it is (rounded to the nearest, v
/// would stand still where beta2 = 0.999 takes 1/1000 of it away, for a bf16 has steps of 1/256). The random bits are a
/// function of the step, the parameter and the place: they are the same for any number of threads and after a resume.
class Adam : public Optimizer {
 public:
  explicit Adam(TensorList parameters, const AdamOptions& options = {}) : Adam(one_group(parameters), options) {}
  explicit Adam(const ParameterGroups& groups, const AdamOptions& options = {})
      : Adam("Adam", groups, options, false) {}

 protected:
  Adam(const char* name, const ParameterGroups& groups, const AdamOptions& options, bool decoupled);

 private:
  void update(const std::vector<Update>& updates, double gradient_scale) override;

  AdamOptions options_;
  bool decoupled_;
};

}  // namespace tape::optim
