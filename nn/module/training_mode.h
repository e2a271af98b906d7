#pragma once

#include "module.h"

namespace tape::nn {

/// Sets training or evaluation mode of a model and its descendants while in scope, then restores each module's mode.
class TrainingModeGuard : NonCopyable {
 public:
  /// Calls model.train(training); the model must outlive this object.
  TrainingModeGuard(Module& model, bool training);
  ~TrainingModeGuard();

 private:
  std::vector<std::pair<Module*, bool>> modes_;
};

}  // namespace tape::nn
