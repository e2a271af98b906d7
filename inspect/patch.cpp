#include "inspect/patch.h"

#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/op.h"
#include "autograd/tape/scope.h"

namespace tape::inspect {

std::vector<double> values_of(const Tensor& tensor) { return cast(tensor.detach(), f64).to_vector<double>(); }

std::unordered_map<const TensorImpl*, Tensor> f64_parameters(const nn::Module& module) {
  std::unordered_map<const TensorImpl*, Tensor> tensors;
  const auto add = [&](const std::vector<NamedTensor>& all) {
    for (const NamedTensor& named : all)
      if (named.tensor.defined() && is_floating(named.tensor.dtype())) {
        Tensor value = named.tensor.detach().to(f64).clone();
        tensors.emplace(named.tensor.ref().get(), value.requires_grad_(named.tensor.requires_grad()));
      }
  };
  add(module.named_parameters());
  add(module.named_buffers());
  return tensors;
}

RunInF64::RunInF64(nn::Module* module) {
  if (module) swap_.emplace(*module, f64_parameters(*module));
}

bool is_attention_weights(const RecordedOp& step) {
  return step.normalizes && step.output.rank() == 4 && step.output.size(0) == 1;
}

void OpRecorder::on_record(const Op& op, TensorList inputs, TensorList, AttributeList) {
  RecordedOp step{.module = ModuleScope::path(),
                  .operation = op.name(),
                  .view = op.traits().view,
                  .normalizes = op.traits().normalizes};
  if (inputs.size() > 0 && inputs[0].defined()) {
    step.input = inputs[0];
    if (const auto made = made_.find(&inputs[0].impl()); made != made_.end()) step.source = made->second;
  }
  steps_.push_back(std::move(step));
}

void OpRecorder::on_node(Node&, TensorList outputs) {
  steps_.back().output = outputs[0];
  for (const Tensor& output : outputs) made_[&output.impl()] = std::ssize(steps_) - 1;
}

void OutputOverride::on_node(Node&, TensorList outputs) {
  const int64_t here = next_++;
  if (here == place_) {
    TensorImpl& output = outputs[0].impl();
    output.storage = values_.impl().storage;
    output.offset = values_.impl().offset;
  }
  if (here == watched_) seen_ = outputs[0].detach();
}

}  // namespace tape::inspect
