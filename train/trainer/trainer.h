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

/// Training runs: tasks, the training loop, data loading, checkpoints and logs.
namespace tape::train {

/// Result of learning from a batch: the mean loss, on the tape, and the number of tokens (or examples) in the mean.
struct BatchLoss {
  Tensor loss;         ///< mean over the tokens, a scalar
  int64_t tokens = 0;  ///< number of tokens in the mean
};

/// A loss as a sum over tokens, so that losses of several batches can be added.
struct LossSum {
  double sum = 0,  ///< sum of the losses of all tokens
      tokens = 0;  ///< number of tokens

  /// Adds the loss and the tokens of other data.
  LossSum& operator+=(const LossSum& other) {
    sum += other.sum;
    tokens += other.tokens;
    return *this;
  }
};
/// A batch's loss, without the tape.
inline LossSum summed(const BatchLoss& learned) {
  const auto tokens = static_cast<double>(learned.tokens);
  return {learned.loss.item() * tokens, tokens};
}
/// Mean over all tokens.
double mean_loss(const std::vector<LossSum>& losses);

/// Callbacks during a run; with several ranks, only rank 0 calls them. on_evaluation is called after the checkpoint of
/// its step.
struct TrainerCallbacks {
  /// After each update, with the model that it made. On a GPU the next step then waits for this one's loss.
  std::function<void(const StepEvent&)> on_step = {};
  std::function<void(int64_t step, const Evaluation&)> on_evaluation = {};  ///< after each evaluation
  /// After each checkpoint; `best`: whether its weights have the best score so far.
  std::function<void(int64_t step, const std::string& folder, bool best)> on_checkpoint = {};
  std::function<void(const std::string& text)> on_warning = {};  ///< after each warning, which is also logged
};

/// Options of a Trainer.
struct TrainerOptions {
  /// The processes that train together, each with its own Trainer and the same options; null: a single process.
  std::shared_ptr<Communicator> ranks = {};
  DistributedOptions distributed = {};     ///< for several ranks
  std::string out = {};                    ///< folder of the run; "": no checkpoints and no log
  Start start = Start::fresh;              ///< what to do with a folder that contains a run
  std::string resume_from = {};            ///< "checkpoint-500" instead of the newest; only with Start::resume
  std::shared_ptr<RunFolder> folder = {};  ///< an already locked folder, instead of out and start
  int64_t steps = 0;                       ///< total number of updates, at least 1
  /// Time limit, including time before a resume; 0: none. A step with batches to come is given up then.
  double seconds = 0;
  optim::Schedule* schedule = nullptr;  ///< of the optimizer; advanced after each update
  double clip_norm = 0;                 ///< maximum norm of all gradients; 0: no clipping
  int64_t accumulate = 1;               ///< batches per update
  int64_t parts = 1;                    ///< number of parts into which each batch is split, processed in sequence
  /// Update each parameter as soon as the backward has its gradient (optim::StepInBackward): bitwise the same result
  /// with less memory. Not with clipping, accumulation or several processes.
  bool step_in_backward = false;
  /// Minimum precision of the matrix products in training; evaluations are not affected.
  MatmulPrecision precision = MatmulPrecision::highest;
  int64_t evaluate_every = 0;         ///< steps; 0: only at the end
  int64_t patience = 0;               ///< stop after this many evaluations without a better score; 0: never
  int64_t checkpoint_every = 0;       ///< steps; 0: at each evaluation. There is always one at the last step
  int64_t keep_last = 2;              ///< number of latest checkpoints to keep, at least 1
  int64_t keep_best = 1;              ///< number of checkpoints with the best scores to keep in addition
  double ema_decay = 0;               ///< decay of the parameters' moving average; 0: none
  int64_t average_last = 0;           ///< number of latest checkpoints to average at the end; 0: none
  int64_t average_best = 0;           ///< the same for those with the best scores
  std::optional<uint64_t> seed = {};  ///< manual_seed() at the start of a new run
  int64_t log_every = 1;              ///< steps per line of the log
  RunDescription describe = {};       ///< description of the run for the log
  std::ostream* progress = nullptr;   ///< stream for progress output; null: none
  TerminalInfo terminal = {};         ///< the terminal of that stream
  /// A JSON object of what else the bits depend on, such as the hash of the data (settings.h). Checkpoints store it,
  /// and a resume with a different one is rejected unless allow_changes.
  std::string settings_json = {};
  bool allow_changes = false;  ///< resume with settings other than the checkpoint's, with a warning
  /// Allow a loss that depends on tensors with gradients that are not parameters of the model or the optimizer, as in a
  /// GAN's generator. Without this they are an Error (config); see nn/gradcheck/check_registered.h.
  bool allow_unregistered = false;
  /// Called before each batch and at the end; true saves a checkpoint and ends the run. A step with batches to come is
  /// given up.
  std::function<bool()> interrupted = {};
  TrainerCallbacks callbacks = {};  ///< called during the run
  /// Saves the model as users load it (models::save, the tokenizer). Called with the run's folder, while the model has
  /// the weights to save, at each new best evaluation and at the end.
  std::function<void(const std::string& folder)> save_model = {};
  /// Reads what save_model saved; returns the values by the model's names. If set, checkpoints store their model with
  /// save_model, so that each can be used like the model's folder.
  std::function<nn::StateDict(const std::string& folder)> load_model = {};
  /// Writes a report into the run's folder. Called after each evaluation and its checkpoint, and at the end. An
  /// exception becomes a warning of the run.
  std::function<void(const std::string& folder)> report = {};
  /// Writes additional files into a checkpoint, before its MANIFEST.
  std::function<void(const std::string& folder)> checkpoint_files = {};
};

/// Why a run ended: all steps done, no better score for `patience` evaluations, `interrupted` returned true, or the
/// time limit.
enum class StopReason { steps, early_stop, interrupted, time };
/// "steps", "early stop", "interrupted", "time"
const char* to_string(StopReason reason);

/// Result of Trainer::fit().
struct TrainResult {
  StopReason reason = StopReason::steps;  ///< why the run ended
  int64_t step = 0;                       ///< total number of updates
  int64_t resumed_from = 0;               ///< step of the checkpoint from which the run resumed; 0: none
  double loss = 0;                        ///< running mean of the steps' losses
  double seconds = 0;                     ///< total time, including time before a resume
  double tokens_per_second = 0;           ///< of this call, excluding evaluations and checkpoints
  std::optional<Evaluation> evaluation;   ///< of the model's final weights
  std::string weights;                    ///< name of these: "step 800", "average of the last 5 checkpoints", ...
  std::string checkpoint;                 ///< folder of the newest one; "" without a run folder
  std::vector<std::string> warnings;      ///< all warnings of the run, in order
};

/// The training loop.
///
/// A step takes `accumulate` batches, calls learn on each, and accumulates gradients as for one large batch: with mean
/// losses L_i over n_i tokens and N = sum n_i, the gradient is that of sum_i n_i L_i / N. Then it measures the norm,
/// clips, updates and advances the schedule.
///
/// The evaluated weights are the moving average if there is one, otherwise the model's own. At the end of a run that
/// was not interrupted, the model gets the weights with the best score among the requested averages, the best
/// checkpoint and the last weights; without evaluation, averages are preferred. An interrupted run leaves the model as
/// it was trained. Evaluation runs in evaluation mode, without recording, and does not advance the random streams.
///
/// A run resumes exactly at a checkpoint: the parameters, the optimizer and the order of the data are then bitwise
/// those of a run that was never stopped, given the same number of threads and the same kind of machine. A checkpoint
/// stores the settings that the bits depend on (clip_norm, accumulate, ema_decay, precision, settings_json): Error
/// (config) names those that differ, unless allow_changes. The length of a run and how often it is evaluated and saved
/// may change.
///
/// Several ranks (TrainerOptions::ranks) train as one process would: each takes every size()-th example of each batch;
/// losses and gradients are means over the tokens of all ranks; parameters, optimizer and decisions are the same on all
/// (train/distributed/distributed.h). Losses equal those of one process within rounding, and are bitwise the same from
/// run to run, except for random values that learn draws: in each step a rank's random streams are seeded by (seed,
/// rank, step). evaluate is called on every rank, and rank 0's loss and score are used; map_over_ranks() divides its
/// work. The folder must be visible to all ranks, but only rank 0 writes: checkpoints are those of one process and can
/// be resumed with any number of ranks. Error (config) at the start if ranks differ in version, kernels or settings. An
/// exception on one rank only, for example Error (io) of the folder, must end the others too (World).
///
/// On a GPU, a single process with f32 parameters reads the loss and the norm of a step when the next one has been
/// launched, so that the GPU need not wait for the host; evaluations and checkpoints read them first.
///
/// A non-finite loss or gradient ends the run before the update: Error (numeric) names the step, the batch, and the
/// first operation and module that produced it; with step_in_backward also how many parameters had already been
/// updated. Error (config) in the first steps if the loss depends on a tensor with gradients that existed before learn
/// was called and is not a parameter of the model or the optimizer: it would not be trained or saved. Error (config)
/// for invalid options; Error (io) if the folder cannot be used, is locked by another process, or contains another run.
class Trainer {
 public:
  /// Locks the folder during the Trainer's lifetime. Model and optimizer must outlive it. All ranks must construct one.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, TrainerOptions options);
  ~Trainer();

  /// Trains until a limit is reached. learn: const Batch& -> BatchLoss. evaluate: evaluates the model; without it there
  /// are no scores.
  template <class Batch, class Learn>
  TrainResult fit(Loader<Batch>& loader, Learn&& learn, const std::function<Evaluation()>& evaluate = {}) {
    return run(
        loader.source(), [&learn](const void* batch) -> BatchLoss { return learn(*static_cast<const Batch*>(batch)); },
        evaluate);
  }

 private:
  using LearnErased = std::function<BatchLoss(const void* batch)>;
  TrainResult run(BatchSource& source, const LearnErased& learn, const std::function<Evaluation()>& evaluate);

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  TrainerOptions options_;
  std::shared_ptr<RunFolder> folder_;
};

}  // namespace tape::train
