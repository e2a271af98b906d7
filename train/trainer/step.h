#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../../optim/schedule.h"
#include "../../optim/step_in_backward.h"
#include "../distributed/distributed.h"
#include "loader.h"
#include "trainer.h"

namespace tape::train {

/// Performs updates of the parameters: batches, gradients, clipping, optimizer, schedule.
class Stepper {
 public:
  using Learn = std::function<BatchLoss(const void* batch)>;

  Stepper(nn::Module& model, optim::Optimizer& optimizer, const TrainerOptions& options)
      : model_(model), optimizer_(optimizer), options_(options) {}
  /// Makes each later step a joint step of several ranks.
  void share(Distributed& distributed) { distributed_ = &distributed; }

  /// Takes the next batches and makes update number `step`; does not set the event's time. Throws Error (numeric) on
  /// every rank if a loss or gradient is not finite: nothing was updated then, except with step_in_backward as its
  /// message says.
  StepEvent step(int64_t step, BatchSource& source, const Learn& learn);

 private:
  BatchLoss learn_and_check(const void* batch, const Learn& learn);
  double learn_from(const BatchSource::Item& item, const Learn& learn, Distributed* with, Distributed::Send send);
  void drop_gradients();
  bool one_batch() const { return options_.accumulate * options_.parts == 1 && !distributed_; }
  void run_backward(const BatchLoss& learned);
  std::optional<double> update();
  double sum_over_ranks(double fault);
  [[noreturn]] void diagnose(const std::string& what, int64_t step, const Learn& learn);
  std::optional<std::string> find_fault(const Learn& learn);
  std::string fault_of_any_rank(const std::optional<std::string>& here) const;

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  const TrainerOptions& options_;
  Distributed* distributed_ = nullptr;             // null in a single process
  std::optional<optim::StepInBackward> stepping_;  // while a backward updates parameters
  bool gradient_refused_ = false;                  // by stepping_, for a non-finite value
  std::vector<BatchSource::Item> batches_;         // of the step
  int64_t tokens_ = 0;                             // in the batches so far
  double loss_sum_ = 0;                            // over these tokens
  int64_t unchecked_ = 2;                          // losses whose leaves are still to be checked
};

}  // namespace tape::train
