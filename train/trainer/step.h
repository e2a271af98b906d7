#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../autograd/random.h"
#include "../../optim/schedule.h"
#include "../../optim/step_in_backward.h"
#include "../../optim/step_report.h"
#include "../distributed/distributed.h"
#include "loader.h"
#include "trainer.h"

namespace tape::train {

/// Smallest outputs that a step on a device computes again in the backward pass (Rematerialize): none on a GPU, where
/// writing and reading them takes as long as for any other operation.
int64_t recomputed_bytes(Device device);

/// Thrown by Stepper::step() for a step that was given up.
struct StepGivenUp {};

/// Performs updates of the parameters: batches, gradients, clipping, optimizer, schedule.
class Stepper {
 public:
  using Learn = std::function<BatchLoss(const void* batch)>;

  Stepper(nn::Module& model, optim::Optimizer& optimizer, const TrainerOptions& options)
      : model_(model), optimizer_(optimizer), options_(options) {}
  /// Makes each later step a joint step of several ranks.
  void share(Distributed& distributed) { distributed_ = &distributed; }
  /// Asks before each batch of a step except the first whether to give the step up. Then step() throws StepGivenUp:
  /// nothing was updated, and the same batches and random values come again. All ranks must give the same answer.
  void give_up_if(std::function<bool()> asked) { gives_up_ = std::move(asked); }

  /// Takes the next batches, makes update number `step` and returns its event, without the time. Throws Error (numeric)
  /// on every rank if a loss or gradient is not finite: nothing was updated then, except with step_in_backward as its
  /// message says.
  ///
  /// On a GPU, if unread(), the event returned is that of the step before, or nullopt if there is none, so that the GPU
  /// need not wait for the host. If that step had a loss or gradient that is not finite, neither step has updated
  /// anything.
  std::optional<StepEvent> step(int64_t step, BatchSource& source, const Learn& learn);
  /// Whether there is a step whose event has not been returned.
  bool unread() const { return unread_.has_value(); }
  /// Waits for that step and returns its event; nullopt if there is none. Throws like step().
  std::optional<StepEvent> read(const Learn& learn);

 private:
  /// A step whose loss and norm the host has not read, with what repeats it.
  struct Unread {
    optim::StepReport report;
    StepEvent event;
    std::vector<BatchSource::Item> batches;
    std::vector<int64_t> tokens;  // of each batch with examples
    RandomState random;
    int64_t schedule_step;
  };

  void begin();
  void remember_buffers();
  void give_up_if_asked(BatchSource& source, const RandomState& random);
  bool reads_later() const;
  StepEvent step_now(int64_t step, BatchSource& source, const Learn& learn, const RandomState& random);
  void step_unread(int64_t step, BatchSource& source, const Learn& learn, const RandomState& random);
  [[noreturn]] void stop(const char* what, int64_t step, const Learn& learn, const RandomState& random);
  [[noreturn]] void stop_unread(const Unread& unread, const std::vector<double>& losses, const Learn& learn);
  BatchLoss learn_and_check(const void* batch, const Learn& learn);
  double learn_from(const BatchSource::Item& item, const Learn& learn, Distributed* with, Distributed::Send send);
  void drop_gradients();
  bool one_batch() const { return options_.accumulate * options_.parts == 1 && !distributed_; }
  Tensor learn_unread(const BatchSource::Item& item, const Learn& learn, std::vector<int64_t>& tokens);
  static const char* fault_of_loss(double loss);
  StepEvent event_of(int64_t step, double lr) const;
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
  std::optional<Unread> unread_;
  std::function<bool()> gives_up_;
  nn::StateDict buffers_;  // persistent ones before the step, if it can be given up
};

}  // namespace tape::train
