#include "autograd/tape/derivatives.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

bool differentiable(const Tensor& x) { return x.defined() && is_floating(x.dtype()); }

void check_directions(const char* operation, const char* what, const Tensors& inputs, const Tensors& directions) {
  if (directions.size() != inputs.size())
    raise(ErrorKind::shape, "{}: {} {}s for {} inputs", operation, directions.size(), what, inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor &x = inputs[i], &t = directions[i];
    if (!t.defined()) continue;
    if (!differentiable(x))
      raise(ErrorKind::dtype, "{}: input {} has no gradient, so its {} must be undefined", operation, i, what);
    if (t.shape() != x.shape() || t.dtype() != x.dtype())
      raise(ErrorKind::shape, "{}: {} {} is {} {}, the input is {} {}", operation, what, i, to_string(t.dtype()),
            to_string(t.shape()), to_string(x.dtype()), to_string(x.shape()));
  }
}

/// Inputs as leaves of their own; those without gradients as they are. `chosen` lists the leaves, `places` whose they
/// are.
Tensors make_leaves(const Tensors& inputs, Tensors& chosen, std::vector<size_t>& places) {
  Tensors leaves = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!differentiable(inputs[i])) continue;
    leaves[i] = inputs[i].detach().requires_grad_();
    chosen.push_back(leaves[i]);
    places.push_back(i);
  }
  return leaves;
}

/// The derivative of the outputs with respect to x, weighted; zeros where nothing depends on it. Outputs that are
/// undefined or constant count as such.
Tensors weighted_gradients(const Tensors& outputs, const Tensors& weights, const Tensors& x) {
  Tensors reached, seeds, result(x.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad() || !weights[i].defined()) continue;
    reached.push_back(outputs[i]);
    seeds.push_back(weights[i]);
  }
  if (!reached.empty()) result = grad(reached, x, {.gradients = seeds, .retain_graph = true, .allow_unused = true});
  for (size_t i = 0; i < x.size(); ++i) result[i] = result[i].defined() ? result[i].detach() : zeros_like(x[i]);
  return result;
}

}  // namespace

Jvp jvp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensors& tangents) {
  check_directions("jvp", "tangent", inputs, tangents);
  const EnableGrad recording;
  Tensors x, along;
  std::vector<size_t> places;
  const Tensors leaves = make_leaves(inputs, x, places);
  for (const size_t place : places) along.push_back(tangents[place].defined() ? tangents[place].detach() : Tensor());
  const Tensor y = f(leaves);
  if (!differentiable(y))
    raise(ErrorKind::dtype, "jvp: the function gave {}", y.defined() ? to_string(y.dtype()) : "an undefined tensor");
  if (!y.requires_grad()) return {y, zeros_like(y)};
  const Tensor u = zeros_like(y).requires_grad_();
  const Tensors gradients = grad({y}, x, {.gradients = {u}, .create_graph = true, .allow_unused = true});
  return {y.detach(), weighted_gradients(gradients, along, {u})[0]};
}

Hvp hvp(const Tensor& loss, const Tensors& leaves, const Tensors& v) {
  check_directions("hvp", "direction", leaves, v);
  Hvp result;
  result.gradient.resize(leaves.size());
  result.product.resize(leaves.size());
  Tensors x, along;
  std::vector<size_t> places;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!differentiable(leaves[i])) continue;
    x.push_back(leaves[i]);
    along.push_back(v[i].defined() ? v[i].detach() : Tensor());
    places.push_back(i);
  }
  const Tensors gradients = grad({loss}, x, {.create_graph = true, .allow_unused = true});
  const Tensors products = weighted_gradients(gradients, along, x);
  result.value = loss.detach();
  for (size_t i = 0; i < places.size(); ++i) {
    result.gradient[places[i]] = gradients[i].defined() ? gradients[i].detach() : zeros_like(x[i]);
    result.product[places[i]] = products[i];
  }
  return result;
}

Hvp hvp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensors& v) {
  check_directions("hvp", "direction", inputs, v);
  const EnableGrad recording;
  Tensors x;
  std::vector<size_t> places;
  const Tensors leaves = make_leaves(inputs, x, places);
  return hvp(f(leaves), leaves, v);
}

}  // namespace tape
