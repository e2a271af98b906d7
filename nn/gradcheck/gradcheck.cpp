#include "nn/gradcheck/gradcheck.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/random.h"
#include "autograd/tape/trace.h"
#include "nn/module/tensor_swap.h"
#include "nn/module/unregistered_leaves.h"

namespace tape::nn::detail {
namespace {

/// Finds tensors with gradients that the module uses without registering them. Runs the module once, in f64 or, if an
/// unregistered tensor makes that fail, in f32.
std::vector<UnregisteredTensor> unregistered(Module& module, const std::function<Tensor(const Tensors&)>& forward,
                                             const Tensors& inputs) {
  for (const DType dtype : {f64, f32}) {
    std::unordered_map<const TensorImpl*, Tensor> copies;
    Tensors known = inputs, given;
    for (const Tensor& input : inputs)
      given.push_back(input.defined() && is_floating(input.dtype()) ? input.detach().clone().to(dtype) : input);
    for (const NamedTensor& parameter : module.named_parameters()) {
      known.push_back(parameter.tensor.detach().clone().to(dtype).requires_grad_(parameter.tensor.requires_grad()));
      copies.emplace(parameter.tensor.ref().get(), known.back());
    }
    for (const NamedTensor& buffer : module.named_buffers()) {
      const Tensor copy = buffer.tensor.detach().clone();
      copies.emplace(buffer.tensor.ref().get(), is_floating(copy.dtype()) ? copy.to(dtype) : copy);
    }
    const ForkRandom random;
    const EnableGrad recording;
    const Trace trace;
    const TensorSwap swap(module, copies);
    const uint64_t before = Ref<Node>(new Node)->sequence;
    try {
      const Tensor output = forward(given);
      std::vector<const Node*> leaves = unregistered_leaves({output}, known);
      // A leaf that the forward creates itself is not a parameter.
      std::erase_if(leaves, [before](const Node* leaf) { return leaf->sequence >= before; });
      return describe_leaves({output}, leaves);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::dtype) return {};  // the check itself will report it
    }
  }
  return {};
}

}  // namespace

GradcheckReport check_module(Module& module, const std::function<Tensor(const Tensors&)>& forward,
                             const Tensors& inputs, const GradcheckOptions& options, Derivative derivative) {
  GradcheckOptions named = options;
  for (size_t i = named.names.size(); i < inputs.size(); ++i)
    named.names.push_back(inputs.size() == 1 ? "input" : fmt::format("input {}", i));
  const bool single =
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return x.defined() && x.dtype() == f32; });
  Tensors variables = inputs;
  std::vector<const TensorImpl*> places;
  std::unordered_map<const TensorImpl*, Tensor> fixed, fixed_single;  // tensors that are not checked
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
    // An f32 check also runs the module in f64, as its own shadow.
    const bool in_single =
        std::any_of(values.begin(), values.end(), [](const Tensor& x) { return x.defined() && x.dtype() == f32; });
    auto replacements = in_single ? fixed_single : fixed;
    for (size_t i = 0; i < places.size(); ++i) replacements.emplace(places[i], values[inputs.size() + i]);
    const TensorSwap swap(module, replacements);
    return forward(Tensors(values.begin(), values.begin() + std::ssize(inputs)));
  };
  std::vector<UnregisteredTensor> strays = unregistered(module, forward, inputs);
  const auto check = [&] {
    return derivative == Derivative::first ? tape::gradcheck(call, variables, named)
                                           : tape::gradgradcheck(call, variables, named);
  };
  GradcheckReport report;
  try {
    report = check();
  } catch (const Error& error) {
    // An unregistered layer stays f32 and does not match the others in f64.
    if (strays.empty() || error.kind() != ErrorKind::dtype) throw;
    report.blame = fmt::format("The gradients were not checked: {}", error.what());
  }
  report.unregistered = std::move(strays);
  return report;
}

}  // namespace tape::nn::detail
