#pragma once

#include <memory>
#include <optional>
#include <string>

#include "../checkpoints/average.h"
#include "../checkpoints/candidates.h"
#include "../checkpoints/checkpoint.h"
#include "../distributed/distributed.h"
#include "../doctor/divergence.h"
#include "../runs/log.h"
#include "../runs/progress.h"
#include "step.h"
#include "trainer.h"

namespace tape::train {

/// One call of Trainer::fit().
class TrainingRun {
 public:
  TrainingRun(nn::Module& model, optim::Optimizer& optimizer, const TrainerOptions& options, const RunFolder* folder,
              BatchSource& source, Stepper::Learn learn, std::function<Evaluation()> evaluate);

  TrainResult train();

 private:
  void begin();
  void join();
  void begin_log(const std::optional<FoundCheckpoint>& found);
  void restore(const Checkpoint& checkpoint, const std::string& from, bool changed);
  void warn(const std::string& text);

  StopReason loop();
  bool interrupted();
  bool out_of_time() const;
  void step();
  void report(StepEvent event);
  /// Reports the last step, if its loss has not been read yet.
  void read_last_step();
  bool evaluation_due() const;
  bool checkpoint_due() const;
  /// Evaluates the model's current weights in evaluation mode.
  Evaluation evaluated();
  void evaluate();
  /// Saves a checkpoint of the step after an evaluation failed, so that the training so far is not lost.
  void save_unevaluated();
  /// Reports an evaluation after its checkpoint was saved: samples, callback and report.
  void show_evaluation();
  void draw_samples(Evaluation& evaluation);
  void write_report();
  /// Calls something optional: an exception becomes a warning.
  void run_optional(const char* what, const std::function<void()>& make);
  void note_score(const Evaluation& evaluation);
  enum class Cause { planned, interruption };
  void save(Cause cause);
  void remove_old_checkpoints();
  CheckpointFiles checkpoint_files() const;

  void evaluate_candidate(Candidate& candidate);
  /// Gives the model its final weights.
  void finish();
  std::vector<Candidate> candidates();
  void end(StopReason reason);

  /// Null with a single rank.
  Distributed* distributed() { return distributed_ ? &*distributed_ : nullptr; }
  /// Whether this process writes to the folder.
  bool writes() const { return folder_ && ranks_.is_root(); }
  double seconds() const { return seconds_before_ + steady_seconds() - began_; }
  nn::StateDict judged_weights() const { return average_ ? average_->values() : nn::StateDict(); }

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  const TrainerOptions& options_;
  Communicator& ranks_;
  const RunFolder* const folder_;
  BatchSource& source_;
  const Stepper::Learn learn_;
  const std::function<Evaluation()> evaluate_;
  Stepper stepper_;
  std::optional<Distributed> distributed_;  // with several ranks
  TrainerState state_;
  DivergenceWatch divergence_;
  std::optional<MovingAverage> average_;
  std::unique_ptr<Log> log_;
  std::optional<Progress> progress_;
  TrainResult result_;
  bool interrupted_ = false;                 // whether options_.interrupted has returned true
  bool saved_ = false;                       // whether the newest checkpoint has the current state
  std::optional<Evaluation> last_;           // of evaluated_step, if evaluated during this call
  std::optional<Candidate> best_in_memory_;  // without a folder to save it in
  double began_ = 0, seconds_before_ = 0;
  double measured_until_ = 0;  // up to here, steps have been timed
  double step_seconds_ = 0;    // during this call
  int64_t tokens_ = 0;         // during this call
  int64_t reported_ = 0;       // the last step that was
};

}  // namespace tape::train
