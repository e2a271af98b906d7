#include "nn/module/training_mode.h"

#include <new>

namespace tape::nn {

TrainingModeGuard::TrainingModeGuard(Module& model, bool training) {
  for (auto& [name, module] : model.named_modules()) modes_.emplace_back(module, module->is_training());
  try {
    model.train(training);
  } catch (...) {
    restore();
    throw;
  }
}

TrainingModeGuard::~TrainingModeGuard() { restore(); }

void TrainingModeGuard::restore() noexcept {
  // Parents come before their children, so that each module's own mode is the last it is given.
  for (auto& [module, training] : modes_) {
    try {
      module->train(training);
    } catch (const std::bad_alloc&) {
      // The mode is set; only packed copies of weights, which save time, have no memory.
    }
  }
}

}  // namespace tape::nn
