#include "autograd/transforms/derivatives.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/leaves.h"

namespace tape {
namespace {

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
    if (t.device() != x.device())
      raise(ErrorKind::device, "{}: {} {} is on {}, the input is on {}", operation, what, i, to_string(t.device()),
            to_string(x.device()));
  }
}

}  // namespace

Jvp jvp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensors& tangents) {
  check_directions("jvp", "tangent", inputs, tangents);
  const EnableGrad recording;
  const Leaves leaves(inputs);
  Tensors along;
  for (const size_t place : leaves.places)
    along.push_back(tangents[place].defined() ? tangents[place].detach() : Tensor());
  const Tensor y = call_checked("jvp", f, leaves.all);
  if (!y.requires_grad()) return {y, zeros_like(y)};
  const Tensor u = zeros_like(y).requires_grad_();
  const Tensors gradients = grad({y}, leaves.x, {.gradients = {u}, .create_graph = true, .allow_unused = true});
  return {y.detach(), weighted_gradients(gradients, along, {u})[0]};
}

Vjp vjp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensor& v) {
  const EnableGrad recording;
  const Leaves leaves(inputs);
  const Tensor y = call_checked("vjp", f, leaves.all);
  if (v.defined() ? v.shape() != y.shape() || v.dtype() != y.dtype() : y.numel() != 1)
    raise(v.defined() ? ErrorKind::shape : ErrorKind::graph, "vjp: the function returned {} {}, v is {}",
          to_string(y.dtype()), to_string(y.shape()),
          v.defined() ? fmt::format("{} {}", to_string(v.dtype()), to_string(v.shape())) : "missing");
  if (v.defined() && v.device() != y.device())
    raise(ErrorKind::device, "vjp: v is on {}, the value of the function is on {}", to_string(v.device()),
          to_string(y.device()));
  const Tensor weights = v.defined() ? v.detach() : ones(y.shape(), y.options());
  return {y.detach(), leaves.scatter_to_inputs(weighted_gradients({y}, {weights}, leaves.x))};
}

std::function<Tensor(const Tensors&)> grad_of(std::function<Tensor(const Tensors&)> f, size_t argument) {
  return [f = std::move(f), argument](const Tensors& inputs) {
    if (argument >= inputs.size())
      raise(ErrorKind::index, "grad_of: argument {} is outside [0, {})", argument, inputs.size());
    if (!differentiable(inputs[argument]))
      raise(ErrorKind::dtype, "grad_of: argument {} is {}, which has no gradient", argument,
            inputs[argument].defined() ? to_string(inputs[argument].dtype()) : "undefined");
    const bool further = needs_record(inputs);
    const EnableGrad recording;
    Tensors x = inputs;
    for (Tensor& input : x)
      if (input.defined() && !further) input = input.detach();
    // An alias, so that only paths through this argument are differentiated and its own history is not.
    x[argument] = inputs[argument].requires_grad() && further ? alias(inputs[argument])
                                                              : inputs[argument].detach().requires_grad_();
    const Tensor y = call_checked("grad_of", f, x);
    if (y.numel() != 1)
      raise(ErrorKind::graph, "grad_of: the function returned {}; it must return a single value", to_string(y.shape()));
    Tensor gradient;
    if (y.requires_grad()) gradient = grad({y}, {x[argument]}, {.create_graph = further, .allow_unused = true})[0];
    if (!gradient.defined()) return zeros_like(x[argument]).detach();
    return further ? gradient : gradient.detach();
  };
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
  const Leaves leaves(inputs);
  return hvp(f(leaves.all), leaves.all, v);
}

}  // namespace tape
