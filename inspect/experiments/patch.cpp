#include "inspect/experiments/patch.h"

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
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

OutputEdit replaced_output(int64_t place, Tensor values) {
  return {.place = place, .value = [values = std::move(values)](const Tensor&) { return values; }};
}

OutputEdit scaled_output(int64_t place, Tensor factors) {
  const auto scaled = [factors = std::move(factors)](const Tensor& x) { return x * factors; };
  return {.place = place, .value = scaled, .gradient = scaled};
}

OutputEdit ablated_head(int64_t place, const Tensor& weights, int64_t head) {
  return scaled_output(place, head_factors(weights, head, 0));
}

Tensor head_factors(const Tensor& weights, std::optional<int64_t> head, double factor) {
  std::vector<double> factors(static_cast<size_t>(weights.size(1)), head ? 1 : factor);
  if (head) factors.at(static_cast<size_t>(*head)) = factor;
  return from_vector(factors, {1, weights.size(1), 1, 1}, weights.options());
}

namespace {

/// The gradient of the original output reaches the operation, that of the new one the observers.
void edit_gradient(Node& node, const OutputEdit& edit) {
  node.backward = [inner = std::move(node.backward), edit, &node](const BackwardContext& context) {
    if (!context.has_grad(0)) return inner(context);
    Tensors gradients;
    std::vector<bool> needed;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      gradients.push_back(context.has_grad(i) ? context.grad(i) : Tensor());
    for (size_t i = 0; i < node.inputs.size(); ++i) needed.push_back(context.needs(i));
    if (edit.gradient) gradients[0] = edit.gradient(gradients[0]);
    Tensors results = inner(BackwardContext(node, gradients, needed, false));
    if (edit.add_gradients) edit.add_gradients(context.grad(0), results);
    return results;
  };
}

}  // namespace

void OutputEdits::on_node(Node& node, TensorList outputs) {
  const int64_t here = next_++;
  for (const OutputEdit& edit : edits_) {
    if (edit.place != here) continue;
    const NoGrad no_grad;
    const Tensor values = edit.value(outputs[0].detach());
    TensorImpl& output = outputs[0].impl();
    output.storage = values.impl().storage;
    output.offset = values.impl().offset;
    if (edit.gradient || edit.add_gradients) edit_gradient(node, edit);
  }
  if (here == watched_) seen_ = outputs[0].detach();
}

}  // namespace tape::inspect
