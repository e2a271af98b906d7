#include "nn/gradcheck.h"

#include <algorithm>

#include "nn/tensor_swap.h"

namespace tape::nn::detail {

GradcheckReport check_module(Module& module, const std::function<Tensor(const Tensors&)>& forward,
                             const Tensors& inputs, const GradcheckOptions& options, Derivative derivative) {
  GradcheckOptions named = options;
  for (size_t i = named.names.size(); i < inputs.size(); ++i)
    named.names.push_back(inputs.size() == 1 ? "input" : fmt::format("input {}", i));
  const bool single =
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return x.defined() && x.dtype() == f32; });
  Tensors variables = inputs;
  std::vector<const TensorImpl*> places;
  std::unordered_map<const TensorImpl*, Tensor> fixed, fixed_single;  // what is not checked
  const auto fix = [&](const Tensor& tensor) {
    fixed.emplace(tensor.ref().get(), tensor.detach().to(f64));
    if (single) fixed_single.emplace(tensor.ref().get(), tensor.detach().to(f32));
  };
  for (const NamedTensor& parameter : module.named_parameters()) {
    if (!parameter.tensor.requires_grad()) {
      fix(parameter.tensor);
      continue;
    }
    variables.push_back(parameter.tensor.detach().to(single ? f32 : f64));
    named.names.push_back(parameter.name);
    places.push_back(parameter.tensor.ref().get());
  }
  for (const NamedTensor& buffer : module.named_buffers())
    if (is_floating(buffer.tensor.dtype())) fix(buffer.tensor);
  const auto call = [&](const Tensors& values) {
    // A check in f32 also runs the module in f64, as its own shadow.
    const bool in_single =
        std::any_of(values.begin(), values.end(), [](const Tensor& x) { return x.defined() && x.dtype() == f32; });
    auto replacements = in_single ? fixed_single : fixed;
    for (size_t i = 0; i < places.size(); ++i) replacements.emplace(places[i], values[inputs.size() + i]);
    const TensorSwap swap(module, replacements);
    return forward(Tensors(values.begin(), values.begin() + std::ssize(inputs)));
  };
  return derivative == Derivative::first ? tape::gradcheck(call, variables, named)
                                         : tape::gradgradcheck(call, variables, named);
}

}  // namespace tape::nn::detail
