#include "nn/module/hook_scope.h"

namespace tape::nn {

void HookScope::forward_pre(Module& module, ForwardPreHook hook) {
  hooks_.emplace_back(&module,
                      int64_t{-1});  // before registering: if this threw later, the hook would never be removed
  hooks_.back().second = module.register_forward_pre_hook(std::move(hook));
}

void HookScope::forward(Module& module, ForwardHook hook) {
  hooks_.emplace_back(&module, int64_t{-1});
  hooks_.back().second = module.register_forward_hook(std::move(hook));
}

void HookScope::backward(Module& module, BackwardHook hook) {
  hooks_.emplace_back(&module, int64_t{-1});
  hooks_.back().second = module.register_backward_hook(std::move(hook));
}

void HookScope::remove() {
  for (const auto& [module, hook] : hooks_) module->remove_hook(hook);
  hooks_.clear();
}

}  // namespace tape::nn
