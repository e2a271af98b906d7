#include "optim/sgd.h"

#include <cmath>

#include "autograd/kernels/training/optimizer.h"

namespace tape::optim {

Sgd::Sgd(const ParameterGroups& groups, const SgdOptions& options)
    : Optimizer(groups, {.name = "Sgd",
                         .lr = options.lr,
                         .weight_decay = options.weight_decay,
                         .check_finite = options.check_finite,
                         .kept_names = options.momentum != 0 ? std::vector<std::string>{"momentum"}
                                                             : std::vector<std::string>{}}),
      options_(options) {
  check_not_negative("Sgd", "momentum", options.momentum);
  if (!std::isfinite(options.dampening))
    raise(ErrorKind::config, "Sgd: dampening must be a number, got {}", options.dampening);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    raise(ErrorKind::config, "Sgd: nesterov needs momentum > 0 and no dampening, got momentum {} and dampening {}",
          options.momentum, options.dampening);
}

void Sgd::update(const std::vector<Update>& updates, double gradient_scale) {
  for (const Update& u : updates) {
    Slot& slot = u.slot;
    const kernels::SgdStep step{.lr = u.lr,
                                .momentum = options_.momentum,
                                .dampening = options_.dampening,
                                .weight_decay = slot.weight_decay,
                                .nesterov = options_.nesterov,
                                .first = slot.steps == 1,
                                .gradient_scale = gradient_scale};
    dispatch_floating("Sgd", slot.parameter.dtype(), [&](auto zero) {
      using T = decltype(zero);
      kernels::optimizer<T>().sgd(u.gradient.numel(), step, u.gradient.data<T>(), u.values<T>(),
                                  slot.kept.empty() ? nullptr : slot.kept[0].mutable_data<T>());
    });
  }
}

}  // namespace tape::optim
