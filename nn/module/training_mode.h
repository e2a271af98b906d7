#pragma once

#include "module.h"

namespace tape::nn {

/// Puts a model and all below it in training or evaluation while in scope, and each module back in its own mode.
class TrainingModeGuard : NonCopyable {
 public:
  TrainingModeGuard(Module& model, bool training);
  ~TrainingModeGuard();

 private:
  std::vector<std::pair<Module*, bool>> modes_;
};

}  // namespace tape::nn
