#include "optim/adam.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/training/optimizer.h"
#include "autograd/kernels/training/random_rounding.h"
#include "autograd/ops/elementwise/activation_dtype.h"
#include "autograd/ops/kernel_call.h"
#include "optim/kernel_updates.h"

namespace tape::optim {

namespace {

/// The bf16 copy that a GPU keeps of a parameter, which is written with it: casts of their own would read it again.
class RoundedCopy {
 public:
  /// Of a parameter before its update, if `values` are all of it.
  RoundedCopy(const Tensor& parameter, const Tensor& values) : parameter_(parameter) {
    if (values.shares_storage(parameter) && values.numel() == parameter.numel())
      copy_ = current_rounded_weight(parameter);
  }
  /// Where to write it, or null. To be called after the parameter's own address was taken.
  BFloat16* values(const KernelCall& at) {
    if (!copy_.defined()) return nullptr;
    set_rounded(parameter_);
    return at.out<BFloat16>(copy_);
  }

 private:
  const Tensor& parameter_;
  Tensor copy_;
};

/// Key of the random bits that round the means of a parameter in a step.
uint64_t rounding_key(size_t parameter, int64_t step) {
  return kernels::random_bits(kernels::random_bits(parameter + 1) + static_cast<uint64_t>(step));
}

uint16_t* bf16_values(const KernelCall& at, Tensor& kept) { return static_cast<uint16_t*>(at.out(kept)); }

}  // namespace

Adam::Adam(const char* name, const ParameterGroups& groups, const AdamOptions& options, bool decoupled)
    : Optimizer(groups, {.name = name,
                         .lr = options.lr,
                         .weight_decay = options.weight_decay,
                         .check_finite = options.check_finite,
                         .state_names = {"m", "v"},
                         .squares = "v",
                         .halves = options.moments == MomentDtype::bf16}),
      options_(options),
      decoupled_(decoupled) {
  for (size_t i = 0; i < 2; ++i)
    if (!(options.betas[i] >= 0 && options.betas[i] < 1))
      raise(ErrorKind::config, "{}: betas must be in [0, 1), got {} and {}", name, options.betas[0], options.betas[1]);
  check_not_negative(name, "eps", options.eps);
}

void Adam::update(const std::vector<Update>& updates, const Tensor& scale) {
  run_kernels("Adam", updates.front().of.values.device(), [&](const KernelCall& at) { update(at, updates, scale); });
}

void Adam::update(const KernelCall& at, const std::vector<Update>& updates, const Tensor& scale) {
  const auto [beta1, beta2] = options_.betas;
  StepTable<kernels::AdamStep> steps;
  UpdatesByDtype<kernels::AdamUpdate> whole;
  std::vector<kernels::Bf16AdamUpdate> halves;
  for (const Update& u : updates) {
    Tensor values = u.of.values;
    RoundedCopy rounded(u.slot.parameter, values);
    const double count = static_cast<double>(u.slot.steps);
    const int64_t group = steps.group({.lr = u.lr,
                                       .beta1 = beta1,
                                       .beta2 = beta2,
                                       .eps = options_.eps,
                                       .weight_decay = u.weight_decay,
                                       .decoupled = decoupled_,
                                       .bias_correction1 = 1 - std::pow(beta1, count),
                                       .bias_correction2 = 1 - std::pow(beta2, count)});
    if (u.slot.kept[0].dtype() == bf16) {
      halves.push_back({.group = group,
                        .n = u.of.gradient.numel(),
                        .gradient = at.in<float>(u.of.gradient),
                        .parameter = at.out<float>(values),
                        .m = bf16_values(at, u.slot.kept[0]),
                        .v = bf16_values(at, u.slot.kept[1]),
                        .key = rounding_key(u.of.parameter, u.slot.steps) + static_cast<uint64_t>(u.of.first)});
      halves.back().rounded = rounded.values(at);
      continue;
    }
    dispatch_floating("Adam", u.slot.parameter.dtype(), [&](auto zero) {
      using T = decltype(zero);
      whole.of<T>().push_back({.group = group,
                               .n = u.of.gradient.numel(),
                               .gradient = at.in<T>(u.of.gradient),
                               .parameter = at.out<T>(values),
                               .m = at.out<T>(u.slot.kept[0]),
                               .v = at.out<T>(u.slot.kept[1])});
      whole.of<T>().back().rounded = rounded.values(at);
    });
  }
  const kernels::GradientState gradients{.scale = at.in<double>(scale), .failed = at.failed_checks()};
  kernels::bf16_optimizer(at).adam(gradients, steps.size(), steps.data(), std::ssize(halves), halves.data());
  whole.run([&]<class T>(int64_t count, const kernels::AdamUpdate<T>* of) {
    kernels::optimizer<T>(at).adam(gradients, steps.size(), steps.data(), count, of);
  });
}

}  // namespace tape::optim
