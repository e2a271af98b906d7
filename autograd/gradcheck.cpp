#include "autograd/gradcheck.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/gradcheck_checker.h"
#include "autograd/tape.h"

namespace tape {
namespace {

using detail::Checker;
using detail::FrozenStreams;

void check_options(const GradcheckOptions& options, size_t inputs) {
  if (!(options.eps > 0) || !(options.rtol > 0) || !(options.atol >= 0))
    raise(ErrorKind::config, "gradcheck: eps and rtol must be positive and atol not negative, got {}, {} and {}",
          options.eps, options.rtol, options.atol);
  if (options.max_elements < 0)
    raise(ErrorKind::config, "gradcheck: max_elements must not be negative, got {}", options.max_elements);
  if (!options.names.empty() && options.names.size() != inputs)
    raise(ErrorKind::config, "gradcheck: {} names for {} inputs", options.names.size(), inputs);
}

void check_variables(const std::vector<NamedTensor>& variables, const GradcheckOptions& options) {
  for (const NamedTensor& variable : variables) {
    if (variable.tensor.dtype() != f64)
      raise(ErrorKind::dtype, "gradcheck: {} is {}; pass f64, differences need its precision", variable.name,
            to_string(variable.tensor.dtype()));
    if (!variable.tensor.is_leaf())
      raise(ErrorKind::graph, "gradcheck: {} is the result of '{}'; pass a leaf", variable.name,
            variable.tensor.impl().node->name());
  }
  for (const std::string& name : options.allow_zero)
    if (std::none_of(variables.begin(), variables.end(), [&](const auto& variable) { return variable.name == name; }))
      raise(ErrorKind::config, "gradcheck: allow_zero names '{}', which is not checked", name);
}

/// Leaves with the inputs' values; i64 and bool inputs as they are. The leaves are also listed by name.
Tensors make_leaves(const Tensors& inputs, const GradcheckOptions& options, std::vector<NamedTensor>& named) {
  check_options(options, inputs.size());
  Tensors leaves = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || inputs[i].dtype() == i64 || inputs[i].dtype() == boolean) continue;
    leaves[i] = inputs[i].detach().clone();
    named.push_back({options.names.empty() ? fmt::format("input {}", i) : options.names[i], leaves[i]});
  }
  check_variables(named, options);
  for (NamedTensor& leaf : named) leaf.tensor.requires_grad_();
  return leaves;
}

}  // namespace

GradcheckReport gradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                          const GradcheckOptions& options) {
  std::vector<NamedTensor> named;
  const Tensors leaves = make_leaves(inputs, options, named);
  return Checker([&] { return Tensors{f(leaves)}; }, named, options, false).run();
}

GradcheckReport gradcheck_variables(const std::function<Tensor()>& f, const std::vector<NamedTensor>& variables,
                                    const GradcheckOptions& options) {
  check_options(options, options.names.size());
  check_variables(variables, options);
  return Checker([&] { return Tensors{f()}; }, variables, options, false).run();
}

GradcheckReport gradgradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                              const GradcheckOptions& options) {
  std::vector<NamedTensor> variables;
  const Tensors leaves = make_leaves(inputs, options, variables);
  Tensors wanted;
  for (const NamedTensor& variable : variables) wanted.push_back(variable.tensor);
  Generator stream(options.seed + 1);
  Shape shape;
  {
    const FrozenStreams streams;
    const NoGrad no_grad;
    shape = f(leaves).shape();
  }
  Tensor head = randn(shape, f64, stream);
  head.requires_grad_();
  variables.push_back({"head", head});
  const auto gradients = [&] {
    const EnableGrad recording;
    const Tensor y = f(leaves);
    Tensors result(wanted.size());
    if (y.requires_grad() && !wanted.empty())
      result = grad({y}, wanted, {.gradients = {head}, .create_graph = true, .allow_unused = true});
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!result[i].defined()) result[i] = zeros_like(wanted[i]);
    return result;
  };
  return Checker(gradients, variables, options, true).run();
}

}  // namespace tape
