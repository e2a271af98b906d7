#include "optim/adam.h"

#include <cmath>

#include "autograd/kernels/optimizer.h"

namespace tape::optim {

Adam::Adam(const char* name, const ParameterGroups& groups, const AdamOptions& options, bool decoupled)
    : Optimizer(groups, {.name = name,
                         .lr = options.lr,
                         .weight_decay = options.weight_decay,
                         .check_finite = options.check_finite,
                         .kept_names = {"m", "v"}}),
      options_(options),
      decoupled_(decoupled) {
  for (size_t i = 0; i < 2; ++i)
    if (!(options.betas[i] >= 0 && options.betas[i] < 1))
      raise(ErrorKind::config, "{}: betas must be in [0, 1), got {} and {}", name, options.betas[0], options.betas[1]);
  check_not_negative(name, "eps", options.eps);
}

void Adam::update(Slot& slot, const Tensor& gradient, double lr) {
  const double steps = static_cast<double>(slot.steps);
  const auto [beta1, beta2] = options_.betas;
  const kernels::AdamStep step{.lr = lr,
                               .beta1 = beta1,
                               .beta2 = beta2,
                               .eps = options_.eps,
                               .weight_decay = slot.weight_decay,
                               .decoupled = decoupled_,
                               .bias_correction1 = 1 - std::pow(beta1, steps),
                               .bias_correction2 = 1 - std::pow(beta2, steps),
                               .gradient_scale = 1};
  dispatch_floating("Adam", slot.parameter.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::optimizer<T>().adam(slot.parameter.numel(), step, gradient.data<T>(), slot.parameter.mutable_data<T>(),
                                 slot.kept[0].mutable_data<T>(), slot.kept[1].mutable_data<T>());
  });
}

}  // namespace tape::optim
