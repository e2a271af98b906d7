#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../optim/schedule.h"
#include "loader.h"
#include "trainer.h"

namespace tape::train {

/// One update of the parameters: batches, gradients, clipping, the optimizer, the schedule.
class Stepper {
 public:
  using Learn = std::function<Learned(const void* batch)>;

  Stepper(nn::Module& model, optim::Optimizer& optimizer, const TrainerOptions& options)
      : model_(model), optimizer_(optimizer), options_(options) {}

  /// Takes the next batches and makes update number `step`; time is not filled in. Error (numeric) where a loss or a
  /// gradient is not finite: nothing was updated then.
  StepEvent step(int64_t step, BatchSource& source, const Learn& learn);

 private:
  double learn_from(const BatchSource::Item& item, const Learn& learn);
  [[noreturn]] void diagnose(const std::string& what, int64_t step, const Learn& learn);
  std::string find_fault(const Learn& learn);

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  const TrainerOptions& options_;
  std::vector<BatchSource::Item> batches_;  // of the step
  int64_t tokens_ = 0;                      // of the batches learnt from
};

}  // namespace tape::train
