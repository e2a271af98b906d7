#include "nn/module/training_mode.h"

namespace tape::nn {

TrainingModeGuard::TrainingModeGuard(Module& model, bool training) {
  for (auto& [name, module] : model.named_modules()) modes_.emplace_back(module, module->is_training());
  model.train(training);
}

TrainingModeGuard::~TrainingModeGuard() {
  // Parents come before their children, so the last mode that a module is given is its own.
  for (auto& [module, training] : modes_) module->train(training);
}

}  // namespace tape::nn
