#include "nn/module/training_mode.h"

namespace tape::nn {

TrainingModeGuard::TrainingModeGuard(Module& model, bool training) {
  for (auto& [name, module] : model.named_modules()) modes_.emplace_back(module, module->is_training());
  model.train(training);
}

TrainingModeGuard::~TrainingModeGuard() {
  // Parents come before their children, so that each module's own mode is the last it is given.
  for (auto& [module, training] : modes_) module->train(training);
}

}  // namespace tape::nn
