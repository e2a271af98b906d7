#pragma once

#include "module.h"

namespace tape::nn {

/// Hooks of modules that are removed with it.
class HookScope : NonCopyable {
 public:
  ~HookScope() { remove(); }

  /// Each as Module's register_forward_pre_hook(), register_forward_hook() and register_backward_hook(); the module
  /// must live as long as the hook.
  void forward_pre(Module& module, ForwardPreHook hook);
  void forward(Module& module, ForwardHook hook);
  void backward(Module& module, BackwardHook hook);
  /// Before its end.
  void remove();

 private:
  std::vector<std::pair<Module*, int64_t>> hooks_;
};

}  // namespace tape::nn
