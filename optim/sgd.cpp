#include "optim/sgd.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/training/optimizer.h"
#include "autograd/ops/kernel_call.h"
#include "optim/kernel_updates.h"

namespace tape::optim {

Sgd::Sgd(const ParameterGroups& groups, const SgdOptions& options)
    : Optimizer(groups, {.name = "Sgd",
                         .lr = options.lr,
                         .weight_decay = options.weight_decay,
                         .check_finite = options.check_finite,
                         .state_names = options.momentum != 0 ? std::vector<std::string>{"momentum"}
                                                              : std::vector<std::string>{}}),
      options_(options) {
  check_not_negative("Sgd", "momentum", options.momentum);
  if (!std::isfinite(options.dampening))
    raise(ErrorKind::config, "Sgd: dampening must be a number, got {}", options.dampening);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    raise(ErrorKind::config, "Sgd: nesterov needs momentum > 0 and no dampening, got momentum {} and dampening {}",
          options.momentum, options.dampening);
}

void Sgd::update(const std::vector<Update>& updates, const Tensor& scale) {
  run_kernels("Sgd", updates.front().of.values.device(), [&](const KernelCall& at) { update(at, updates, scale); });
}

void Sgd::update(const KernelCall& at, const std::vector<Update>& updates, const Tensor& scale) {
  StepTable<kernels::SgdStep> steps;
  UpdatesByDtype<kernels::SgdUpdate> all;
  for (const Update& u : updates) {
    Slot& slot = u.slot;
    Tensor values = u.of.values;
    const int64_t group = steps.group({.lr = u.lr,
                                       .momentum = options_.momentum,
                                       .dampening = options_.dampening,
                                       .weight_decay = u.weight_decay,
                                       .nesterov = options_.nesterov,
                                       .first = slot.steps == 1});
    dispatch_floating("Sgd", slot.parameter.dtype(), [&](auto zero) {
      using T = decltype(zero);
      all.of<T>().push_back({.group = group,
                             .n = u.of.gradient.numel(),
                             .gradient = at.in<T>(u.of.gradient),
                             .parameter = at.out<T>(values),
                             .buffer = slot.kept.empty() ? nullptr : at.out<T>(slot.kept[0])});
    });
  }
  const kernels::GradientState gradients{.scale = at.in<double>(scale), .failed = at.failed_checks()};
  all.run([&]<class T>(int64_t count, const kernels::SgdUpdate<T>* of) {
    kernels::optimizer<T>(at).sgd(gradients, steps.size(), steps.data(), count, of);
  });
}

}  // namespace tape::optim
