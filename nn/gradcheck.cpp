#include "nn/gradcheck.h"

#include "nn/tensor_swap.h"

namespace tape::nn::detail {

GradcheckReport check_module(Module& module, const std::function<Tensor(const Tensors&)>& forward,
                             const Tensors& inputs, const GradcheckOptions& options, Order order) {
  GradcheckOptions named = options;
  for (size_t i = named.names.size(); i < inputs.size(); ++i)
    named.names.push_back(inputs.size() == 1 ? "input" : fmt::format("input {}", i));
  Tensors variables = inputs;
  std::vector<const TensorImpl*> places;
  std::unordered_map<const TensorImpl*, Tensor> fixed;
  for (const NamedTensor& parameter : module.named_parameters()) {
    const Tensor value = parameter.tensor.detach().to(f64);
    if (!parameter.tensor.requires_grad()) {
      fixed.emplace(parameter.tensor.ref().get(), value);
      continue;
    }
    variables.push_back(value);
    named.names.push_back(parameter.name);
    places.push_back(parameter.tensor.ref().get());
  }
  for (const NamedTensor& buffer : module.named_buffers())
    if (is_floating(buffer.tensor.dtype())) fixed.emplace(buffer.tensor.ref().get(), buffer.tensor.to(f64));
  const auto call = [&](const Tensors& values) {
    auto replacements = fixed;
    for (size_t i = 0; i < places.size(); ++i) replacements.emplace(places[i], values[inputs.size() + i]);
    const TensorSwap swap(module, replacements);
    return forward(Tensors(values.begin(), values.begin() + std::ssize(inputs)));
  };
  return order == Order::first ? tape::gradcheck(call, variables, named) : tape::gradgradcheck(call, variables, named);
}

}  // namespace tape::nn::detail
