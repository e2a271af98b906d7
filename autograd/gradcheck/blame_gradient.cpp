#include "autograd/gradcheck/blame_gradient.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/observer.h"

namespace tape::detail {
namespace {

/// A step recorded again with leaves instead of its slots, so that differentiation through its gradient function ends
/// at its own inputs.
struct Alone {
  explicit Alone(const RecordedStep& step) {
    Tensors inputs = step.inputs, saved;
    for (const RecordedStep::Slot& slot : step.slots) {
      leaves.push_back(slot.tensor.detach().requires_grad_());
      for (const size_t input : slot.inputs) inputs[input] = leaves.back();
    }
    for (const Tensor& output : step.outputs) outputs.push_back(output.detach());
    for (const Node::Saved& entry : step.node->saved) {
      saved.push_back(entry.output >= 0 ? outputs[static_cast<size_t>(entry.output)] : entry.value);
      for (size_t i = 0; i < step.slots.size() && entry.output < 0 && entry.value.defined(); ++i)
        if (entry.value.is(step.slots[i].tensor)) saved.back() = leaves[i];
    }
    const MatmulPrecisionScope as_recorded(step.node->precision);
    record_node(*step.op, inputs, outputs, saved, step.node->backward);
  }

  Tensors leaves, outputs;
};

/// Nothing inside a segment is recorded, and packed values are not available.
bool can_be_repeated(const Node& node) {
  return !node.segment && std::none_of(node.saved.begin(), node.saved.end(),
                                       [](const Node::Saved& entry) { return entry.packed != nullptr; });
}

double dot(const Tensor& a, const Tensor& b, double& squares) {
  double sum = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double part = a.data<double>()[i] * b.data<double>()[i];
    sum += part;
    squares += part * part;
  }
  return sum;
}

}  // namespace

Replay::Probe GradientSteps::probe() {
  return [this](const RecordedStep& first, const Node& node, TensorList) {
    const HideObservers unobserved;
    return own_gradients(first, node, arriving_[static_cast<size_t>(&first - first_)]);
  };
}

RunGradients GradientSteps::start(const Replay& replay, Generator& stream) {
  first_ = replay.steps().data();
  RunGradients of_outputs(replay, stream), second;
  for (const StepGradients& step : of_outputs.steps) arriving_.push_back(step.head);
  second.other_dtypes = of_outputs.other_dtypes;
  for (size_t k = 0; k < replay.steps().size(); ++k) {
    const RecordedStep& step = replay.steps()[k];
    const bool checked = !arriving_[k].empty() && can_be_repeated(*step.node);
    second.steps.push_back(checked ? differentiate(k, step, stream) : StepGradients{});
    second.checked += checked;
  }
  return second;
}

StepGradients GradientSteps::differentiate(size_t step, const RecordedStep& recorded, Generator& stream) {
  const HideObservers unobserved;
  const EnableGrad recording;
  StepGradients result;
  result.values = own_gradients(recorded, *recorded.node, arriving_[step]);
  for (const Tensor& value : result.values) {
    result.head.push_back(randn(value.shape(), f64, stream));
    double* w = result.head.back().mutable_data<double>();
    for (int64_t i = 0; i < value.numel(); ++i)
      if (!std::isfinite(value.data<double>()[i])) w[i] = 0;
  }
  const Alone alone(recorded);
  Tensors reached, seeds, wanted = alone.leaves;
  for (size_t i = 0; i < alone.outputs.size(); ++i) {
    if (!arriving_[step][i].defined()) continue;
    reached.push_back(alone.outputs[i]);
    seeds.push_back(arriving_[step][i].detach().requires_grad_());
  }
  const Tensors given = grad(reached, alone.leaves, {.gradients = seeds, .create_graph = true, .allow_unused = true});
  wanted.insert(wanted.end(), seeds.begin(), seeds.end());
  Tensors differentiable, heads, second(wanted.size());
  double value = 0, by_arriving = 0, squares = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    value += dot(result.values[i], result.head[i], squares);
    if (!given[i].defined() || !given[i].requires_grad()) continue;
    differentiable.push_back(given[i]);
    heads.push_back(result.head[i]);
  }
  if (!differentiable.empty()) second = grad(differentiable, wanted, {.gradients = heads, .allow_unused = true});
  for (size_t i = 0; i < alone.leaves.size(); ++i)
    result.slots.push_back(second[i].defined() ? second[i] : zeros_like(alone.leaves[i].detach()));
  for (size_t i = 0; i < seeds.size(); ++i)
    if (const Tensor& s = second[alone.leaves.size() + i]; s.defined()) by_arriving += dot(s, seeds[i], squares);
  if (!(std::abs(value - by_arriving) <= kBlameTolerance * std::sqrt(squares))) {
    GradcheckResult miss;
    miss.name = "the incoming gradient, along itself,";
    miss.checked = miss.wrong = 1;
    miss.analytic = by_arriving;
    miss.numeric = value;
    not_linear_.emplace_back(step, miss);
  }
  return result;
}

}  // namespace tape::detail
