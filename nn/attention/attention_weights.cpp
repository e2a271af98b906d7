#include "nn/attention/attention_weights.h"

#include <algorithm>

#include "autograd/ops/attention/attention_call.h"

namespace tape::nn {

AttentionWeights::AttentionWeights(Module& model, const std::vector<const Module*>& only) {
  const HideObservers not_running;
  const ModuleScope outermost(model.name());
  for (const auto& [path, module] : model.named_modules()) {
    if (!only.empty() && std::find(only.begin(), only.end(), module) == only.end()) continue;
    const ModuleScope inside(path);
    modules_.emplace(ModuleScope::path(), module);
  }
}

Tensor AttentionWeights::of(const Module& attention) const {
  const auto found = last_.find(&attention);
  return found == last_.end() ? Tensor() : found->second;
}

bool AttentionWeights::wants_attention_weights() { return modules_.contains(ModuleScope::path()); }

void AttentionWeights::on_attention(AttentionCall& call) {
  if (const auto found = modules_.find(ModuleScope::path()); found != modules_.end())
    last_[found->second] = call.weights.detach();
}

}  // namespace tape::nn
