#include "inspect/experiments/attention_probe.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "base/short_list.h"
#include "nn/attention/attention.h"
#include "nn/attention/disentangled_attention.h"
#include "nn/attention/relative_attention.h"

namespace tape::inspect {

/// A call and the gradients of its outputs.
struct AttentionProbe::RecordedCall {
  std::string module;
  AttentionCall call;
  Tensor output_gradient, weights_gradient;
};

namespace {

/// Passes the gradient of a tensor to `keep` without changing it.
void keep_gradient(const Tensor& tensor, std::function<void(const Tensor&)> keep) {
  if (!tensor.defined() || !tensor.requires_grad()) return;
  Tensor handle = tensor;
  handle.register_hook([keep = std::move(keep)](const Tensor& gradient) {
    keep(gradient.detach());
    return Tensor();
  });
}

/// The sum of everything added to the scores: relative positions and the additive mask; -inf where masked.
Tensor mask_of(const AttentionCall& call, const AttentionSteps& steps) {
  const Tensor& added = call.inputs[3];
  const Tensor visible = call.visible();
  if (!added.defined() && !visible.defined() && !steps.positions.defined()) return {};
  Tensor mask = zeros_like(steps.scores);
  if (steps.positions.defined()) mask = mask + steps.positions.detach();
  if (added.defined()) mask = mask + added.detach();
  return visible.defined() ? masked_fill(mask, logical_not(visible.to(mask.device())), -INFINITY) : mask;
}

AttentionTensors detached(const AttentionSteps& steps, const Tensor& mask) {
  return {.query = steps.query.detach(),
          .key = steps.key.detach(),
          .value = steps.value.detach(),
          .scores = steps.scores.detach(),
          .mask = mask,
          .probabilities = steps.probabilities.detach(),
          .context = steps.context.detach()};
}

AttentionTensors each(const AttentionTensors& tensors, const std::function<Tensor(const Tensor&)>& of) {
  const auto apply = [&](const Tensor& tensor) { return tensor.defined() ? of(tensor) : tensor; };
  return {.query = apply(tensors.query),
          .key = apply(tensors.key),
          .value = apply(tensors.value),
          .scores = apply(tensors.scores),
          .mask = apply(tensors.mask),
          .probabilities = apply(tensors.probabilities),
          .context = apply(tensors.context)};
}

/// Computes the call's steps and their gradients, given the gradients of its outputs.
AttentionRecord computed(const std::string& module, const AttentionCall& call, const Tensor& output_gradient,
                         const Tensor& weights_gradient) {
  const HideObservers own_tape;
  const bool differentiate = output_gradient.defined() || weights_gradient.defined();
  const EnableGrad mode(differentiate);
  Tensors inputs;
  for (const Tensor& input : call.inputs) {
    inputs.push_back(input.defined() ? input.detach() : input);
    if (differentiate && input.defined()) inputs.back().requires_grad_();
  }
  AttentionSteps steps = call.steps(inputs);
  AttentionRecord record{.module = module, .heads = call.heads, .values = {}, .gradients = {}};
  record.values = detached(steps, mask_of(call, steps));
  if (!differentiate) return record;
  for (Tensor* step :
       {&steps.query, &steps.key, &steps.value, &steps.scores, &steps.masked, &steps.probabilities, &steps.context})
    step->retain_grad();
  Tensors roots, seeds;
  if (output_gradient.defined()) roots.push_back(steps.output), seeds.push_back(output_gradient);
  if (weights_gradient.defined())
    roots.push_back(steps.probabilities), seeds.push_back(reshape(weights_gradient, steps.probabilities.shape()));
  backward(roots, seeds);
  record.gradients = {.query = steps.query.grad(),
                      .key = steps.key.grad(),
                      .value = steps.value.grad(),
                      .scores = steps.scores.grad(),
                      .mask = record.values.mask.defined() ? steps.masked.grad() : Tensor(),
                      .probabilities = steps.probabilities.grad(),
                      .context = steps.context.grad()};
  return record;
}

}  // namespace

AttentionRecord AttentionRecord::head(int64_t h) const {
  if (h < 0 || h >= heads) raise(ErrorKind::index, "{}: head {} is outside [0, {})", module, h, heads);
  const auto of_head = [h](const Tensor& tensor) { return select(tensor, 1, h); };
  return {.module = module, .heads = 1, .values = each(values, of_head), .gradients = each(gradients, of_head)};
}

bool is_attention(const nn::Module& module) {
  return dynamic_cast<const nn::MultiHeadAttention*>(&module) ||
         dynamic_cast<const nn::DisentangledAttention*>(&module) || dynamic_cast<const nn::RelativeAttention*>(&module);
}

AttentionProbe::AttentionProbe(nn::Module& model) {
  for (const auto& [path, module] : model.named_modules())
    if (is_attention(*module)) paths_.insert(path);
  if (paths_.empty())
    raise(ErrorKind::config, "AttentionProbe: {} has no MultiHeadAttention, DisentangledAttention or RelativeAttention",
          model.type_name());
}

AttentionProbe::~AttentionProbe() = default;

bool AttentionProbe::supports(nn::Module& model) {
  const auto modules = model.named_modules();
  return std::any_of(modules.begin(), modules.end(), [](const auto& named) { return is_attention(*named.second); });
}

void AttentionProbe::on_attention(AttentionCall& call) {
  const std::string path = ModuleScope::path();
  if (!paths_.contains(path)) return;
  const auto seen = std::make_shared<RecordedCall>(RecordedCall{path, call, {}, {}});
  // Weak: the hooks may outlive the record, and a strong reference would form a cycle through the call's tensors.
  const std::weak_ptr<RecordedCall> place = seen;
  keep_gradient(call.output, [place](const Tensor& gradient) {
    if (const auto here = place.lock()) here->output_gradient = gradient;
  });
  keep_gradient(call.weights, [place](const Tensor& gradient) {
    if (const auto here = place.lock()) here->weights_gradient = gradient;
  });
  // Detached, so that the probe does not extend the lifetime of the tape.
  for (Tensor& input : seen->call.inputs)
    if (input.defined()) input = input.detach();
  seen->call.output = seen->call.output.detach();
  seen->call.weights = Tensor();
  seen_.push_back(seen);
}

std::vector<std::string> AttentionProbe::modules() const {
  std::vector<std::string> names;
  for (const auto& seen : seen_)
    if (std::find(names.begin(), names.end(), seen->module) == names.end()) names.push_back(seen->module);
  return names;
}

std::vector<AttentionRecord> AttentionProbe::records() const {
  std::vector<AttentionRecord> records;
  records.reserve(seen_.size());
  for (const auto& seen : seen_)
    records.push_back(computed(seen->module, seen->call, seen->output_gradient, seen->weights_gradient));
  return records;
}

AttentionRecord AttentionProbe::record(const std::string& module) const {
  for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen)
    if ((*seen)->module == module)
      return computed(module, (*seen)->call, (*seen)->output_gradient, (*seen)->weights_gradient);
  raise(ErrorKind::config, "AttentionProbe: \"{}\" was not called; these were: {}", module, short_list(modules()));
}

void AttentionProbe::clear() { seen_.clear(); }

void AttentionProbe::forget_gradients() {
  for (const auto& seen : seen_) seen->output_gradient = seen->weights_gradient = Tensor();
}

}  // namespace tape::inspect
