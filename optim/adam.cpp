#include "optim/adam.h"

#include <cmath>

#include "autograd/kernels/optimizer.h"

namespace tape::optim {

Adam::Adam(const char* name, const ParameterGroups& groups, const AdamOptions& options, bool decoupled)
    : Optimizer(groups, {.name = name,
                         .lr = options.lr,
                         .weight_decay = options.weight_decay,
                         .check_finite = options.check_finite,
                         .kept_names = {"m", "v"},
                         .squares = "v"}),
      options_(options),
      decoupled_(decoupled) {
  for (size_t i = 0; i < 2; ++i)
    if (!(options.betas[i] >= 0 && options.betas[i] < 1))
      raise(ErrorKind::config, "{}: betas must be in [0, 1), got {} and {}", name, options.betas[0], options.betas[1]);
  check_not_negative(name, "eps", options.eps);
}

void Adam::update(const std::vector<Update>& updates, double gradient_scale) {
  const auto [beta1, beta2] = options_.betas;
  std::vector<kernels::AdamUpdate<float>> singles;
  std::vector<kernels::AdamUpdate<double>> doubles;
  for (const Update& u : updates) {
    const double steps = static_cast<double>(u.slot.steps);
    const kernels::AdamStep step{.lr = u.lr,
                                 .beta1 = beta1,
                                 .beta2 = beta2,
                                 .eps = options_.eps,
                                 .weight_decay = u.slot.weight_decay,
                                 .decoupled = decoupled_,
                                 .bias_correction1 = 1 - std::pow(beta1, steps),
                                 .bias_correction2 = 1 - std::pow(beta2, steps),
                                 .gradient_scale = gradient_scale};
    const auto add = [&]<class T>(std::vector<kernels::AdamUpdate<T>>& to) {
      to.push_back({step, u.gradient.numel(), u.gradient.data<T>(), u.values<T>(), u.slot.kept[0].mutable_data<T>(),
                    u.slot.kept[1].mutable_data<T>()});
    };
    dispatch_floating("Adam", u.slot.parameter.dtype(), [&](auto zero) {
      if constexpr (std::is_same_v<decltype(zero), float>)
        add(singles);
      else
        add(doubles);
    });
  }
  // More of them first: what working memory these take suffices for the others, so that nothing fails half done.
  if (singles.size() < doubles.size()) kernels::optimizer<double>().adam(std::ssize(doubles), doubles.data());
  kernels::optimizer<float>().adam(std::ssize(singles), singles.data());
  if (singles.size() >= doubles.size()) kernels::optimizer<double>().adam(std::ssize(doubles), doubles.data());
}

}  // namespace tape::optim
