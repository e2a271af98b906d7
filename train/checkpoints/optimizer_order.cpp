#include "train/checkpoints/optimizer_order.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/create.h"

namespace tape::train {

std::vector<std::string> optimizer_order(const nn::Module& model, const optim::Optimizer& optimizer) {
  std::map<const TensorImpl*, std::string> names;
  for (const NamedTensor& named : model.named_parameters()) names.emplace(named.tensor.ref().get(), named.name);
  std::vector<std::string> order;
  for (const Tensor& parameter : optimizer.parameters()) {
    const auto found = names.find(parameter.ref().get());
    if (found == names.end()) return {};
    order.push_back(found->second);
  }
  return order;
}

std::map<std::string, Tensor> renumbered(const std::map<std::string, Tensor>& state,
                                         const std::vector<std::string>& then, const std::vector<std::string>& now) {
  if (then.empty() || now.empty() || then == now) return state;
  std::map<std::string, Tensor> moved;
  for (const std::string shared : {"lr", "initial_lr"})
    if (const auto found = state.find(shared); found != state.end()) moved.insert(*found);
  for (size_t number = 0; number < now.size(); ++number) {
    const auto before = std::ranges::find(then, now[number]);
    if (before == then.end()) {
      moved[fmt::format("{}.step", number)] = scalar(0, i64);
      continue;
    }
    const std::string prefix = fmt::format("{}.", before - then.begin());
    for (auto found = state.lower_bound(prefix); found != state.end() && found->first.starts_with(prefix); ++found)
      moved[fmt::format("{}.{}", number, found->first.substr(prefix.size()))] = found->second;
  }
  return moved;
}

}  // namespace tape::train
