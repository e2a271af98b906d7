#include "inspect/patch.h"

#include "autograd/ops/cast.h"
#include "autograd/ops/op.h"
#include "autograd/tape/scope.h"

namespace tape::inspect {

std::vector<double> numbers_of(const Tensor& tensor) { return cast(tensor.detach(), f64).to_vector<double>(); }

InDouble::InDouble(nn::Module* module) {
  if (!module) return;
  std::unordered_map<const TensorImpl*, Tensor> replacements;
  const auto replace = [&](const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& named : tensors)
      if (named.tensor.defined() && is_floating(named.tensor.dtype())) {
        Tensor value = named.tensor.detach().to(f64).clone();
        replacements.emplace(named.tensor.ref().get(), value.requires_grad_(named.tensor.requires_grad()));
      }
  };
  replace(module->named_parameters());
  replace(module->named_buffers());
  swap_.emplace(*module, replacements);
}

void RecordedValues::recorded(const Op& op, TensorList inputs, TensorList, AttributeList) {
  RecordedValue step{
      .module = ModuleScope::path(), .operation = op.name(), .view = op.traits().view, .weighs = op.traits().weighs};
  if (inputs.size() > 0 && inputs[0].defined()) {
    step.input = inputs[0];
    if (const auto made = made_.find(&inputs[0].impl()); made != made_.end()) step.source = made->second;
  }
  steps_.push_back(std::move(step));
}

void RecordedValues::entered(Node&, TensorList outputs) {
  steps_.back().output = outputs[0];
  for (const Tensor& output : outputs) made_[&output.impl()] = std::ssize(steps_) - 1;
}

void Patch::entered(Node&, TensorList outputs) {
  const int64_t here = next_++;
  if (here == place_) {
    TensorImpl& output = outputs[0].impl();
    output.storage = values_.impl().storage;
    output.offset = values_.impl().offset;
  }
  if (here == watched_) seen_ = outputs[0].detach();
}

}  // namespace tape::inspect
