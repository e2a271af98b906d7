#include "inspect/experiments/activations.h"

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "autograd/ops/attention/attention_call.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"
#include "base/module_path.h"
#include "base/short_list.h"
#include "inspect/experiments/attention_probe.h"
#include "inspect/explorer/parts.h"

namespace tape::inspect {
namespace {

/// Number of heads of each attention module.
class HeadCounts : public Observer {
 public:
  int64_t of(const std::string& module) const {
    const auto found = counts_.find(module);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  void on_attention(AttentionCall& call) override { counts_[ModuleScope::path()] = call.heads; }

  std::map<std::string, int64_t> counts_;
};

/// Replaces some columns of x [1, T, C] with those of `from`, in one row or in all.
Tensor with_part(const Tensor& x, const Tensor& from, std::optional<int64_t> position, int64_t column, int64_t width) {
  const int64_t row = position.value_or(0), rows = position ? 1 : x.size(1);
  const auto block = [&](const Tensor& of) { return slice(of, 1, {.start = row, .end = row + rows}); };
  const Tensor part = slice(block(from), 2, {.start = column, .end = column + width});
  return put_slice(x, 1, row, put_slice(block(x), 2, column, part));
}

/// Returns the output of the module's next call; `call` counts the calls.
Tensor next_of(const Tensors& calls, const std::shared_ptr<size_t>& call, const Tensor& now, const std::string& path) {
  if (*call >= calls.size() || calls[*call].shape() != now.shape())
    raise(ErrorKind::config,
          "patch: {} returned {} in call {}, but another shape in the run that the patch is taken from", path,
          to_string(now.shape()), *call);
  return calls[(*call)++];
}

}  // namespace

std::string patch_name(const ActivationPatch& patch) {
  return fmt::format("{}{}{}", patch.module, patch.head ? fmt::format(":{}", *patch.head) : "",
                     patch.position ? fmt::format("@{}", *patch.position) : "");
}

Activations::Activations(const Study& study) : texts_(study.texts) {
  if (!study.run) raise(ErrorKind::config, "patch: the study has no function to run");
  if (!study.module || study.texts.empty()) raise(ErrorKind::config, "patch: the study has no model that reads a text");
  const NoGrad no_grad;
  const HeadCounts counts;
  nn::HookScope hooks;
  const auto modules = study.module->named_modules();
  modules_.reserve(modules.size());
  for (const auto& [path, module] : modules) modules_.push_back({.module = module, .path = path});
  for (Module& of : modules_) {
    hooks.forward(*of.module, [&of](nn::Module&, const Tensors&, const Tensor& output) {
      if (output.rank() == 3 && output.size(0) == 1) of.outputs.push_back(output.detach());
      return Tensor();
    });
    if (!is_attention(*of.module)) continue;
    const std::string output = of.path.empty() ? "output" : of.path + ".output";
    of.projection = std::ranges::find(modules_, output, &Module::path)->module;
    hooks.forward_pre(*of.projection, [&of](nn::Module&, const Tensors& inputs) {
      of.heads.push_back(inputs[0].detach());
      return Tensors();
    });
  }
  values_ = values_of(study.run());
  for (Module& of : modules_) {
    of.head_count = counts.of(of.path);
    of.text = text_of(study, of.path);
    of.of_tokens = !of.outputs.empty() && of.text < texts_.size() && of.outputs[0].size(1) == tokens_of(of);
  }
  std::erase_if(modules_, [](const Module& of) { return of.outputs.empty(); });
}

int64_t Activations::tokens_of(const Module& module) const { return std::ssize(texts_[module.text].tokens); }

const Activations::Module& Activations::module_of(const ActivationPatch& patch) const {
  const auto found = std::ranges::find(modules_, patch.module, &Module::path);
  if (found == modules_.end()) {
    std::vector<std::string> known;
    for (const Module& of : modules_)
      if (of.of_tokens && !of.path.empty() && split_module_path(of.path).size() <= 2) known.push_back(of.path);
    raise(ErrorKind::config, "patch: module \"{}\" has no output with one row per token; outer modules that do: {}",
          patch.module, short_list(known));
  }
  if (patch.head && (*patch.head < 0 || *patch.head >= found->head_count))
    raise(ErrorKind::config, "patch: {}: head {} is outside [0, {})", patch.module, *patch.head, found->head_count);
  if (patch.position && !found->of_tokens)
    raise(ErrorKind::config, "patch: {}: output {} does not have one row per token, so no position can be selected",
          patch.module, to_string(found->outputs[0].shape()));
  if (patch.position && (*patch.position < 0 || *patch.position >= tokens_of(*found)))
    raise(ErrorKind::config, "patch: {}: position {} is outside [0, {}) of the {}", patch.module, *patch.position,
          tokens_of(*found), texts_[found->text].name);
  return *found;
}

PatchedActivations::PatchedActivations(const Activations& from, const ActivationPatch& patch) {
  const Activations::Module& of = from.module_of(patch);
  const auto call = std::make_shared<size_t>(0);
  if (!patch.head) {
    hooks_.forward(*of.module, [&of, call, patch](nn::Module&, const Tensors&, const Tensor& output) {
      const Tensor clean = next_of(of.outputs, call, output, of.path);
      return with_part(output, clean, patch.position, 0, output.size(2));
    });
    return;
  }
  hooks_.forward_pre(*of.projection, [&of, call, patch](nn::Module&, const Tensors& inputs) {
    const Tensor clean = next_of(of.heads, call, inputs[0], of.path);
    const int64_t width = inputs[0].size(2) / of.head_count;
    return Tensors{with_part(inputs[0], clean, patch.position, *patch.head * width, width)};
  });
}

}  // namespace tape::inspect
