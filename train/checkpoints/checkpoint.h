#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../../autograd/random.h"
#include "../../nn/module/module.h"
#include "../../optim/optimizer.h"
#include "../trainer/loader.h"
#include "manifest.h"

namespace tape::train {

/// A checkpoint's step and evaluation score.
struct ScoredStep {
  int64_t step = 0;                                    ///< number of updates
  double score = 0;                                    ///< Evaluation::score, higher is better
  bool operator==(const ScoredStep&) const = default;  ///< memberwise
};

/// What an exact resume needs besides tensors. Checkpoints are made between steps, so no gradients are accumulated.
struct TrainerState {
  int64_t step = 0;                       ///< number of updates
  int64_t schedule_step = 0;              ///< step of the schedule, if there is one
  DataPosition data = {};                 ///< position of the next batch
  RandomState random = {};                ///< random streams of this process (rank 0 of several)
  int64_t accumulate = 1;                 ///< batches per update
  std::vector<ScoredStep> best = {};      ///< checkpoints with the best scores, best first
  std::optional<double> best_score = {};  ///< best score so far; unset before the first evaluation
  int64_t stale = 0;                      ///< number of evaluations since the best score
  int64_t evaluated_step = -1;            ///< step of the last evaluation
  std::vector<int64_t> planned = {};      ///< the latest scheduled checkpoints, without those made on an interrupt
  double loss_average = 0;                ///< running mean of the losses
  std::optional<double> first_loss = {};  ///< of the first step; unset in checkpoints without this field
  double highest_lr = 0;                  ///< highest learning rate so far
  double seconds = 0;                     ///< training time so far
  int64_t tokens = 0;                     ///< number of tokens so far
  /// Names of the parameters by their number in the optimizer's state; empty in checkpoints without this field.
  std::vector<std::string> parameters = {};
  // What the bits depend on.
  std::string version = {};    ///< version of Tapeformer
  std::string kernels = {};    ///< instruction set of the kernels
  std::string blas = {};       ///< BLAS library with its version and threading
  std::string blas_core = {};  ///< CPU core that the BLAS library chose its kernels for
  std::string products = {};   ///< kernels::products_in_use(); "" in checkpoints without this field
  int threads = 0;             ///< number of threads
  int ranks = 1;               ///< number of processes that trained together
  /// Options and data of the run, see train/runs/settings.h; "" in checkpoints without this field.
  std::string settings = {};
};

/// A checkpoint in memory.
struct Checkpoint {
  nn::StateDict model;                      ///< parameters and buffers, tied ones once
  std::map<std::string, Tensor> optimizer;  ///< Optimizer::state_dict()
  nn::StateDict average;                    ///< moving average of the parameters; empty if unused
  TrainerState state;                       ///< the rest of the run
};

/// How a checkpoint stores its model, and what else it stores. Without save_model and load_model (set both or neither)
/// the model is model.safetensors with the names of Module::state_dict(); with models::save() and load() each
/// checkpoint is also a model folder.
struct CheckpointFiles {
  std::function<void(const std::string& folder)> save_model = {};  ///< saves the model with its current weights
  std::function<nn::StateDict(const std::string& folder)> load_model = {};  ///< reads what save_model wrote
  std::function<void(const std::string& folder)> more = {};                 ///< writes additional files
  /// Writes the optimizer's state to a file, instead of Checkpoint::optimizer: for a state that is sharded over
  /// processes.
  std::function<void(const std::string& path)> save_optimizer = {};
  VerifiedManifests* checked = nullptr;  ///< files recorded here as verified are not read again to verify them
};

/// "checkpoint-500"
std::string checkpoint_name(int64_t step);
/// Steps of the folders `checkpoint-N` in a run's folder, ascending, whether complete or not.
std::vector<int64_t> checkpoint_steps(const std::string& run);

/// Writes `run/checkpoint-N/`: the model, optimizer.safetensors, average.safetensors if there is an average,
/// trainer_state.json, the files of `files.more`, and finally MANIFEST.json with the name, size and XXH3-64 of each.
/// All files are written into `.tmp-checkpoint-N`, flushed, and renamed, so that a kill at any moment leaves no partial
/// checkpoint; remains of an earlier kill are removed first. Returns the folder. On Error (io) all other checkpoints
/// are unchanged and no partial files remain.
std::string save_checkpoint(const std::string& run, const Checkpoint& checkpoint, const CheckpointFiles& files = {});

/// Reads `folder` after verifying every file against MANIFEST.json. Throws Error (format) or (io) naming what is
/// broken. Does not change the random streams.
Checkpoint load_checkpoint(const std::string& folder, const CheckpointFiles& files = {});
/// Reads only the trainer state, whose file newest_intact_folder() has verified.
TrainerState load_checkpoint_state(const std::string& folder);
/// Reads only the model.
nn::StateDict load_checkpoint_model(const std::string& folder, const CheckpointFiles& files = {});

/// Result of newest_checkpoint().
struct FoundCheckpoint {
  std::string folder;                 ///< path of the checkpoint: `run/checkpoint-N`
  Checkpoint checkpoint;              ///< its content
  std::vector<std::string> warnings;  ///< one per newer checkpoint that is broken, naming the fault
};
/// The newest complete checkpoint; nullopt if there are no checkpoints. Throws Error (format) if all are broken.
std::optional<FoundCheckpoint> newest_checkpoint(const std::string& run, const CheckpointFiles& files = {});

/// Folder of the newest checkpoint whose files match its MANIFEST. nullopt and errors as for newest_checkpoint.
std::optional<std::string> newest_intact_folder(const std::string& run, VerifiedManifests& checked);

/// Removes the checkpoints, the log and the report of a run.
void remove_run(const std::string& run);

/// Removes all checkpoints except those of the given steps.
void remove_checkpoints_except(const std::string& run, const std::vector<int64_t>& keep);

}  // namespace tape::train
