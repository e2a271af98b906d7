#include "autograd/diagnose/tape_values.h"

#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

Tensors without_history(TensorList tensors) {
  Tensors values;
  values.reserve(tensors.size());
  for (const Tensor& tensor : tensors) values.push_back(tensor.defined() ? tensor.detach() : tensor);
  return values;
}

}  // namespace

Tensor TapeValues::Step::contribution(size_t i) const {
  if (i >= contributions.size() || !contributions[i].defined()) return {};
  const NoGrad no_grad;
  return sum_to(contributions[i], inputs[i].shape());
}

const TapeValues::Step* TapeValues::find(const Node& node) const {
  const auto found = places_.find(node.sequence);
  return found == places_.end() ? nullptr : &steps_[found->second];
}

void TapeValues::forget_gradients() {
  for (Step& step : steps_) {
    step.gradients.clear();
    step.contributions.clear();
    step.replayed = -1;
  }
  replayed_ = 0;
}

void TapeValues::on_record(const Op&, TensorList inputs, TensorList, AttributeList) {
  inputs_ = without_history(inputs);
}

void TapeValues::on_node(Node& node, TensorList outputs) {
  places_.emplace(node.sequence, steps_.size());
  steps_.push_back({.sequence = node.sequence,
                    .inputs = std::move(inputs_),
                    .outputs = without_history(outputs),
                    .gradients = {},
                    .contributions = {},
                    .recorded = std::ssize(steps_)});
}

void TapeValues::on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) {
  const int64_t order = replayed_++;
  const auto found = places_.find(node.sequence);
  if (found == places_.end()) return;
  Step& step = steps_[found->second];
  step.gradients = without_history(gradients);
  // A gradient function may return a gradient for an input that needs none.
  step.contributions = without_history(results);
  for (size_t i = 0; i < node.inputs.size() && i < step.contributions.size(); ++i)
    if (!node.inputs[i].node) step.contributions[i] = Tensor();
  step.replayed = order;
}

}  // namespace tape
