#pragma once

#include "module.h"

namespace tape::nn {

/// Module hooks that are removed when this object is destroyed.
class HookScope : NonCopyable {
 public:
  ~HookScope() { remove(); }

  /// As Module::register_forward_pre_hook(), register_forward_hook() and register_backward_hook(). The module must
  /// outlive the hook.
  /// @{
  void forward_pre(Module& module, ForwardPreHook hook);
  void forward(Module& module, ForwardHook hook);
  void backward(Module& module, BackwardHook hook);
  /// @}
  /// Removes the hooks early.
  void remove();

 private:
  std::vector<std::pair<Module*, int64_t>> hooks_;
};

}  // namespace tape::nn
