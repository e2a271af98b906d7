#pragma once

#include "../autograd/ops/kernel_call.h"
#include "optimizer.h"

namespace tape::optim {

/// Options of Sgd.
struct SgdOptions {
  double lr = 1e-3;          ///< learning rate, finite and >= 0
  double momentum = 0;       ///< decay rate of b, >= 0; 0 for plain gradient descent
  double dampening = 0;      ///< reduces the gradient's weight in the momentum
  bool nesterov = false;     ///< needs momentum > 0 and no dampening
  double weight_decay = 0;   ///< L2 penalty: adds weight_decay p to the gradient
  bool check_finite = true;  ///< rejects gradients with NaN or infinity
};

/// Stochastic gradient descent with momentum (Polyak 1964) or Nesterov momentum (Nesterov 1983), in the form of
/// Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning".
///
///     g = gradient + weight_decay p
///     b = g at the first step, then momentum b + (1 - dampening) g
///     p = p - lr (g without momentum; b; or g + momentum b for Nesterov)
///
/// Throws Error (config) for settings out of range, and for Nesterov without momentum or with dampening.
class Sgd : public Optimizer {
 public:
  /// Takes parameters as one group, or groups with their own settings. Throws Error (config) for parameters that
  /// Optimizer rejects and for options out of range.
  /// @{
  explicit Sgd(TensorList parameters, const SgdOptions& options = {}) : Sgd(one_group(parameters), options) {}
  explicit Sgd(const ParameterGroups& groups, const SgdOptions& options = {});
  /// @}

 private:
  void update(const std::vector<Update>& updates, const Tensor& scale) override;
  void update(const KernelCall& at, const std::vector<Update>& updates, const Tensor& scale);

  SgdOptions options_;
};

}  // namespace tape::optim
