#include "autograd/transforms/leaves.h"

#include "autograd/create.h"
#include "autograd/tape/tape.h"

namespace tape {

Leaves::Leaves(const Tensors& inputs) : all(inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!differentiable(inputs[i])) continue;
    all[i] = inputs[i].detach().requires_grad_();
    x.push_back(all[i]);
    places.push_back(i);
  }
}

Tensors Leaves::scatter_to_inputs(const Tensors& found) const {
  Tensors placed(all.size());
  for (size_t i = 0; i < places.size(); ++i) placed[places[i]] = found[i];
  return placed;
}

Tensor call_checked(const char* operation, const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs) {
  Tensor y = f(inputs);
  if (!differentiable(y))
    raise(ErrorKind::dtype, "{}: the function returned {}", operation,
          y.defined() ? to_string(y.dtype()) : "an undefined tensor");
  return y;
}

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

}  // namespace tape
