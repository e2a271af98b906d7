#include "autograd/gradcheck/gradcheck.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/gradcheck/blame.h"
#include "autograd/gradcheck/run.h"
#include "autograd/tape/graph.h"

namespace tape {
namespace {

using detail::GradcheckRun;
using detail::SinglePrecision;

void check_options(const GradcheckOptions& options, size_t inputs) {
  if (!(options.eps > 0) || !(options.rtol > 0) || !(options.atol >= 0))
    raise(ErrorKind::config, "gradcheck: eps and rtol must be positive and atol not negative, got {}, {} and {}",
          options.eps, options.rtol, options.atol);
  if (options.max_elements < 0 || options.directions < 0)
    raise(ErrorKind::config, "gradcheck: {} must not be negative, got {}",
          options.max_elements < 0 ? "max_elements" : "directions", std::min(options.max_elements, options.directions));
  if (!(options.max_seconds >= 0))
    raise(ErrorKind::config, "gradcheck: max_seconds must not be negative, got {}", options.max_seconds);
  if (!(options.f32_rtol > 0))
    raise(ErrorKind::config, "gradcheck: f32_rtol must be positive, got {}", options.f32_rtol);
  if (!options.names.empty() && options.names.size() != inputs)
    raise(ErrorKind::config, "gradcheck: got {} names for {} inputs", options.names.size(), inputs);
}

void check_variables(const std::vector<NamedTensor>& variables, const GradcheckOptions& options, DType dtype) {
  if (variables.empty())
    raise(ErrorKind::config,
          "gradcheck: there is no gradient to check: no input is floating, and no parameter requires gradients");
  for (const NamedTensor& variable : variables) {
    if (variable.tensor.dtype() != dtype)
      raise(ErrorKind::dtype, "gradcheck: {} is {}; pass f64, which differences need for precision", variable.name,
            to_string(variable.tensor.dtype()));
    if (!variable.tensor.is_leaf())
      raise(ErrorKind::graph, "gradcheck: {} is the result of '{}'; pass a leaf", variable.name,
            variable.tensor.impl().node->name());
  }
  for (const std::string& name : options.allow_zero)
    if (std::none_of(variables.begin(), variables.end(), [&](const auto& variable) { return variable.name == name; }))
      raise(ErrorKind::config, "gradcheck: allow_zero names '{}', which is not checked", name);
}

/// Whether two tensors share an element of memory.
bool overlap(const Tensor& a, const Tensor& b) {
  const auto end = [](const Tensor& x) { return x.impl().offset + x.numel() * size_of(x.dtype()); };
  return a.shares_storage(b) && a.impl().offset < end(b) && b.impl().offset < end(a);
}

/// Whether `tensor` was computed from `leaf`, according to the tape.
bool made_from(const Tensor& tensor, const Tensor& leaf) {
  if (!tensor.requires_grad() || !leaf.requires_grad() || tensor.is(leaf)) return false;
  const std::vector<const Node*> nodes = nodes_behind({tensor});
  return std::find(nodes.begin(), nodes.end(), leaf.impl().node.get()) != nodes.end();
}

/// Differences move one variable at a time, so no variable may move with another.
void check_independent(const std::vector<NamedTensor>& variables, bool copied) {
  for (size_t i = 0; i < variables.size(); ++i) {
    for (size_t j = 0; j < variables.size(); ++j) {
      const Tensor &a = variables[i].tensor, &b = variables[j].tensor;
      if (i < j && overlap(a, b) && !(copied && a.is(b)))
        raise(ErrorKind::graph,
              "gradcheck: {} and {} overlap in memory, so they cannot vary independently; pass a clone() of one",
              variables[i].name, variables[j].name);
      if (made_from(b, a))
        raise(ErrorKind::graph,
              "gradcheck: {} was computed from {} ('{}'), so it is not independent; compute it inside the function",
              variables[j].name, variables[i].name, b.impl().node->name());
    }
  }
}

/// Returns the inputs to check, by name. All have the same dtype, f32 or f64.
std::vector<NamedTensor> name_inputs(const Tensors& inputs, const GradcheckOptions& options) {
  check_options(options, inputs.size());
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !is_floating(inputs[i].dtype())) continue;
    named.push_back({options.names.empty() ? fmt::format("input {}", i) : options.names[i], inputs[i]});
    if (named.back().tensor.dtype() != named.front().tensor.dtype())
      raise(ErrorKind::dtype, "gradcheck: {} is {} and {} is {}; pass all f64, or all f32 for a check in f32",
            named.front().name, to_string(named.front().tensor.dtype()), named.back().name,
            to_string(named.back().tensor.dtype()));
  }
  check_independent(named, true);
  return named;
}

/// Returns leaves with the inputs' values in a dtype; i64 and bool inputs are unchanged. Also lists the leaves by name.
Tensors make_leaves(const Tensors& inputs, const GradcheckOptions& options, DType dtype,
                    std::vector<NamedTensor>& named) {
  named = name_inputs(inputs, options);
  Tensors leaves = inputs;
  size_t next = 0;
  for (Tensor& leaf : leaves) {
    if (!leaf.defined() || !is_floating(leaf.dtype())) continue;
    leaf = leaf.detach().clone().to(dtype);
    named[next++].tensor = leaf;
  }
  check_variables(named, options, dtype);
  for (NamedTensor& leaf : named) leaf.tensor.requires_grad_();
  return leaves;
}

bool is_single(const Tensors& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return x.defined() && x.dtype() == f32; });
}

/// The same function in f64, on leaves with the same values.
std::function<Tensors()> shadow_of(const std::function<Tensor(const Tensors&)>& f, const Tensors& leaves,
                                   const GradcheckOptions& options) {
  return [&f, &leaves, &options] {
    if (options.shadow) return Tensors{options.shadow(leaves)};
    try {
      return Tensors{f(leaves)};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::dtype) throw;
      raise(ErrorKind::dtype,
            "gradcheck: the function does not run in f64 ({}); pass .shadow, the same function in f64", error.what());
    }
  };
}

}  // namespace

GradcheckReport gradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                          const GradcheckOptions& options) {
  std::vector<NamedTensor> named, single;
  const Tensors leaves = make_leaves(inputs, options, f64, named);
  if (!is_single(inputs)) return GradcheckRun([&] { return Tensors{f(leaves)}; }, named, options, false).run();
  const Tensors single_leaves = make_leaves(inputs, options, f32, single);
  SinglePrecision backend{[&] { return Tensors{f(single_leaves)}; }, {}};
  for (const NamedTensor& leaf : single) backend.leaves.push_back(leaf.tensor);
  return GradcheckRun(shadow_of(f, leaves, options), named, options, false, std::move(backend)).run();
}

GradcheckReport gradcheck_variables(const std::function<Tensor()>& f, const std::vector<NamedTensor>& variables,
                                    const GradcheckOptions& options) {
  check_options(options, options.names.size());
  check_variables(variables, options, f64);
  check_independent(variables, false);
  return GradcheckRun([&] { return Tensors{f()}; }, variables, options, false).run();
}

GradcheckReport gradgradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                              const GradcheckOptions& options) {
  std::vector<NamedTensor> variables;
  if (is_single(inputs))
    raise(ErrorKind::dtype, "gradgradcheck: the inputs are f32; pass f64, which differences need for precision");
  const Tensors leaves = make_leaves(inputs, options, f64, variables);
  Tensors wanted;
  for (const NamedTensor& variable : variables) wanted.push_back(variable.tensor);
  Generator stream(options.seed + 1);
  Tensor head;
  {
    const ForkRandom random;
    const NoGrad no_grad;
    const Tensor y = f(leaves);
    head = randn(y.shape(), {f64, cpu}, stream).to(y.device());
  }
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
  GradcheckOptions without_blame = options;
  without_blame.blame = false;
  const ForkRandom random;
  GradcheckReport report = GradcheckRun(gradients, variables, without_blame, true).run();
  if (report.ok() || !options.blame || !detail::can_find_guilty(variables, report)) return report;
  const auto again = [&](const std::function<Tensors()>& run) {
    return [&random, run] {
      random.rewind();
      const EnableGrad recording;
      return run();
    };
  };
  detail::Verdict verdict = detail::find_guilty(again(gradients), options.seed, variables);
  if (verdict.guilty.empty()) {
    // A value detached inside a gradient function is better reported for the operation that owns the gradient.
    detail::Verdict second = detail::find_guilty_gradient(again([&] { return Tensors{f(leaves)}; }), options.seed);
    if (second.guilty.empty()) second.unrecorded = verdict.unrecorded;
    verdict = std::move(second);
  }
  report.guilty = verdict.guilty;
  report.unrecorded = verdict.unrecorded;
  report.blame = verdict.text;
  return report;
}

}  // namespace tape
