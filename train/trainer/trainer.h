#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../autograd/kernels/product/matmul_precision.h"
#include "../../base/terminal.h"
#include "../../nn/module/module.h"
#include "../../optim/optimizer.h"
#include "../../optim/schedule.h"
#include "../distributed/distributed.h"
#include "../runs/events.h"
#include "../runs/run_folder.h"
#include "loader.h"

namespace tape::train {

/// What learning from a batch gives: the mean loss, on the tape, and how many tokens (or examples) it is a mean of.
struct Learned {
  Tensor loss;
  int64_t tokens = 0;
};

/// A loss as a sum over tokens: such sums of batches can be added.
struct SummedLoss {
  double sum = 0, tokens = 0;
};
inline SummedLoss summed(const Learned& learned) {
  const auto tokens = static_cast<double>(learned.tokens);
  return {learned.loss.item() * tokens, tokens};
}
/// The mean over the tokens of all.
double mean_loss(const std::vector<SummedLoss>& losses);

/// What a run calls as it goes on; of several ranks, rank 0 does. on_evaluation is called after the checkpoint of its
/// step.
struct TrainerCallbacks {
  std::function<void(const StepEvent&)> on_step = {};
  std::function<void(int64_t step, const Evaluation&)> on_evaluation = {};
  std::function<void(int64_t step, const std::string& folder, bool best)> on_checkpoint = {};
  std::function<void(const std::string& text)> on_warning = {};
};

struct TrainerOptions {
  /// The processes that train together, each with a Trainer of its own that is told the same; null: this one alone.
  std::shared_ptr<Communicator> ranks = {};
  DistributedOptions distributed = {};     ///< of several ranks
  std::string out = {};                    ///< folder of the run; "": no checkpoints and no log
  Start start = Start::fresh;              ///< what to do with a folder that holds a run
  std::string resume_from = {};            ///< "checkpoint-500": that one, not the newest; only with Start::resume
  std::shared_ptr<RunFolder> folder = {};  ///< one that is locked already, in place of out and start
  int64_t steps = 0;                       ///< updates in all, at least 1
  double seconds = 0;                      ///< stop after so much time, before a resume included; 0: never
  optim::Schedule* schedule = nullptr;     ///< of the optimizer; stepped after each update
  double clip_norm = 0;                    ///< largest norm of all gradients; 0: no clipping
  int64_t accumulate = 1;                  ///< batches an update
  int64_t parts = 1;                       ///< of a batch, which are learned from one after the other
  /// Update each parameter as soon as the backward has its gradient (optim::StepInBackward): the same bits in less
  /// memory. Neither clips nor adds up batches, and is of one process.
  bool step_in_backward = false;
  /// Of the matrix products of training, at least; evaluations keep theirs.
  MatmulPrecision precision = MatmulPrecision::highest;
  int64_t evaluate_every = 0;         ///< steps; 0: at the end only
  int64_t patience = 0;               ///< stop after so many evaluations without a better score; 0: never
  int64_t checkpoint_every = 0;       ///< steps; 0: at each evaluation. The last step has one always
  int64_t keep_last = 2;              ///< checkpoints, at least 1
  int64_t keep_best = 1;              ///< checkpoints with the best scores, kept besides
  double ema_decay = 0;               ///< of the moving average of parameters; 0: none
  int64_t average_last = 0;           ///< at the end, average the last so many checkpoints; 0: none
  int64_t average_best = 0;           ///< the same of those with the best scores
  std::optional<uint64_t> seed = {};  ///< manual_seed() when a new run begins
  int64_t log_every = 1;              ///< steps a line of the log
  RunDescription describe = {};       ///< what the log says at the start
  std::ostream* progress = nullptr;   ///< where progress is shown; null: nowhere
  TerminalInfo terminal = {};         ///< what that stream is shown on
  /// A JSON object of what else the bits depend on, the hash of the data for example (settings.h): every checkpoint
  /// holds it, and a resume with another one is refused unless allow_changes.
  std::string settings_json = {};
  bool allow_changes = false;  ///< go on with other settings than the checkpoint's, with a warning
  /// Allow a loss that depends on tensors with gradients that are parameters neither of the model nor of the optimizer,
  /// as that of a GAN's generator does. Without this they are an Error (config); see nn/gradcheck/check_registered.h.
  bool allow_unregistered = false;
  std::function<bool()> interrupted = {};  ///< asked after each step; true saves a checkpoint and ends the run
  TrainerCallbacks callbacks = {};
  /// Saves the model as users load it (models::save, the tokenizer): called with the run's folder, the weights in
  /// place, at each best evaluation and at the end.
  std::function<void(const std::string& folder)> save_model = {};
  /// Reads what save_model saved, the values by the model's names. Where it is given, checkpoints hold their model as
  /// save_model writes it, so that each can be used as the model's folder can.
  std::function<nn::StateDict(const std::string& folder)> load_model = {};
  /// Writes a report of the run's folder: called after each evaluation and its checkpoint, and at the end. An exception
  /// becomes a warning of the run.
  std::function<void(const std::string& folder)> report = {};
  /// Writes more files into a checkpoint, before its MANIFEST.
  std::function<void(const std::string& folder)> checkpoint_files = {};
};

enum class StopReason { steps, early_stop, interrupted, time };
/// "steps", "early stop", "interrupted", "time"
const char* to_string(StopReason reason);

struct TrainResult {
  StopReason reason = StopReason::steps;
  int64_t step = 0;                      ///< updates in all
  int64_t resumed_from = 0;              ///< the step of the checkpoint that the run went on from; 0: from the start
  double loss = 0;                       ///< running mean of the steps' losses
  double seconds = 0;                    ///< in all, the time before a resume included
  double tokens_per_second = 0;          ///< of this call, evaluations and checkpoints left out
  std::optional<Evaluation> evaluation;  ///< of the weights that the model holds now
  std::string weights;                   ///< which these are: "step 800", "average of the last 5 checkpoints", ...
  std::string checkpoint;                ///< folder of the newest one; "" without a run folder
  std::vector<std::string> warnings;
};

/// The training loop.
///
/// A step takes `accumulate` batches, calls learn on each, and sums gradients so that they are those of one big batch:
/// with mean losses L_i over n_i tokens and N = sum n_i, the gradient is that of sum_i n_i L_i / N. It measures the
/// norm, clips, updates and moves the schedule on.
///
/// The weights that are evaluated are the moving average where there is one, else the model's own. At the end of a run
/// that was not interrupted the model is given the weights that scored best among the averages asked for, the best
/// checkpoint and the last weights; without evaluation the averages come first. An interrupted run leaves the model as
/// it was trained. Evaluation runs in evaluation mode, without recording, and does not move the random streams.
///
/// A run goes on exactly where a checkpoint was made: the parameters, the optimizer and the order of the data are then
/// those of a run that was never stopped, bit for bit, with the same number of threads on the same kind of machine. A
/// checkpoint holds the settings that the bits depend on (clip_norm, accumulate, ema_decay, precision, settings_json):
/// Error (config) names those that are others now, unless allow_changes. How long a run is, and how often it is
/// evaluated and saved, may change.
///
/// Several ranks (TrainerOptions::ranks) train as one process would: each takes every size()-th example of each batch,
/// losses and gradients are means over the tokens of all, and the parameters, the optimizer and every decision are the
/// same on all (train/distributed/distributed.h). Losses are those of one process within rounding, and from run to run
/// the same bits, but for what learn draws: a step's random streams begin anew for each rank, by (seed, rank, step).
/// evaluate is called on every rank, whose mean loss and score count as rank 0 has them; spread() divides its work. The
/// folder is one that all ranks see, and rank 0 alone writes: checkpoints are those of one process, and may go on with
/// any number of ranks. Error (config) at the start where ranks differ in version, kernels or settings. What one rank
/// alone throws, an Error (io) of the folder for example, must end the others too (World).
///
/// A loss or gradient that is not finite ends the run before the update: Error (numeric) names the step, the batch, and
/// the first operation and module that made it; with step_in_backward also how many parameters were updated before a
/// gradient that is not. Error (config) in the first steps where the loss depends on a tensor with gradients that
/// existed before learn was called and is a parameter neither of the model nor of the optimizer: it would not be
/// trained or saved. Error (config) for options that make no sense; Error (io) for a folder that cannot be used, is
/// locked by another process, or holds another run.
class Trainer {
 public:
  /// Locks the folder until the Trainer is gone. Model and optimizer must outlive it. Of several ranks, all make
  /// theirs.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, TrainerOptions options);
  ~Trainer();

  /// learn: const Batch& -> Learned. evaluate: the model as it should be judged.
  template <class Batch, class Learn>
  TrainResult fit(Loader<Batch>& loader, Learn&& learn, const std::function<Evaluation()>& evaluate = {}) {
    return run(
        loader.source(), [&learn](const void* batch) -> Learned { return learn(*static_cast<const Batch*>(batch)); },
        evaluate);
  }

 private:
  using LearnErased = std::function<Learned(const void* batch)>;
  TrainResult run(BatchSource& source, const LearnErased& learn, const std::function<Evaluation()>& evaluate);

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  TrainerOptions options_;
  std::shared_ptr<RunFolder> folder_;
};

}  // namespace tape::train
