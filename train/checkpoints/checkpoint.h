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

/// A checkpoint and the score of its evaluation.
struct ScoredStep {
  int64_t step = 0;
  double score = 0;
  bool operator==(const ScoredStep&) const = default;
};

/// What an exact resume needs besides tensors. A checkpoint is made between two steps, so nothing is half accumulated.
struct TrainerState {
  int64_t step = 0;           ///< updates done
  int64_t schedule_step = 0;  ///< of the schedule, if there is one
  DataPosition data = {};     ///< of the next batch
  RandomState random = {};
  int64_t accumulate = 1;
  std::vector<ScoredStep> best = {};  ///< checkpoints with the best scores, best first
  std::optional<double> best_score = {};
  int64_t stale = 0;                  ///< evaluations since the best score
  int64_t evaluated_step = -1;        ///< of the last evaluation
  std::vector<int64_t> planned = {};  ///< the latest checkpoints that were due, not made by an interruption
  double loss_average = 0;            ///< running mean of the losses
  double seconds = 0;                 ///< of training so far
  int64_t tokens = 0;                 ///< seen so far
  // What the bits depend on.
  std::string version = {};
  std::string kernels = {};
  std::string blas = {};
  std::string blas_core = {};
  std::string products = {};  ///< kernels::products_in_use(); "" in checkpoints that do not say
  int threads = 0;
  int ranks = 1;  ///< processes that trained together
  /// The options and data of the run, see train/runs/settings.h; "" in checkpoints that do not say.
  std::string settings = {};
};

/// A checkpoint in memory.
struct Checkpoint {
  nn::StateDict model;                      ///< parameters and buffers, tied ones once
  std::map<std::string, Tensor> optimizer;  ///< Optimizer::state_dict()
  nn::StateDict average;                    ///< moving average of the parameters; empty without one
  TrainerState state;
};

/// How a checkpoint holds its model, and what more it holds. Without save_model and load_model (give both or neither)
/// that is model.safetensors with the names of Module::state_dict(); with models::save() and load() each checkpoint is
/// a model's folder besides.
struct CheckpointFiles {
  std::function<void(const std::string& folder)> save_model = {};           ///< the model with its present weights
  std::function<nn::StateDict(const std::string& folder)> load_model = {};  ///< what save_model saved
  std::function<void(const std::string& folder)> more = {};                 ///< writes anything else
  /// Writes the optimizer's state to a file, in place of Checkpoint::optimizer: where no process has all of it.
  std::function<void(const std::string& path)> save_optimizer = {};
  CheckedManifests* checked = nullptr;  ///< files that it knows to be whole are not read again to check them
};

/// "checkpoint-500"
std::string checkpoint_name(int64_t step);
/// Steps of the folders `checkpoint-N` in a run's folder, ascending, whether they are whole or not.
std::vector<int64_t> checkpoint_steps(const std::string& run);

/// Writes `run/checkpoint-N/`: the model, optimizer.safetensors, average.safetensors where there is one,
/// trainer_state.json, what `files.more` writes, and last MANIFEST.json with name, bytes and XXH3-64 of each. All is
/// written into `.tmp-checkpoint-N`, flushed, and renamed, so that a kill at any moment leaves no half checkpoint; what
/// an earlier kill left is removed first. Returns the folder. Error (io) leaves every other checkpoint as it was and
/// nothing beside them.
std::string save_checkpoint(const std::string& run, const Checkpoint& checkpoint, const CheckpointFiles& files = {});

/// Reads `folder` after checking every file against MANIFEST.json. Error (format) or (io) naming what is broken. The
/// random streams stay where they are.
Checkpoint load_checkpoint(const std::string& folder, const CheckpointFiles& files = {});
/// Its state alone, whose file newest_whole_folder() has checked.
TrainerState load_checkpoint_state(const std::string& folder);
/// Its model alone.
nn::StateDict load_checkpoint_model(const std::string& folder, const CheckpointFiles& files = {});

struct FoundCheckpoint {
  std::string folder;
  Checkpoint checkpoint;
  std::vector<std::string> warnings;  ///< one for each newer checkpoint that is broken, naming what is
};
/// The newest checkpoint that is whole; nothing where there is no checkpoint at all. Error (format) where there are
/// some and none is whole.
std::optional<FoundCheckpoint> newest_checkpoint(const std::string& run, const CheckpointFiles& files = {});

/// The folder of the newest checkpoint whose files are those that its MANIFEST lists. Nothing and Error as
/// newest_checkpoint.
std::optional<std::string> newest_whole_folder(const std::string& run, CheckedManifests& checked);

/// Removes the checkpoints, the log and the report of a run.
void remove_run(const std::string& run);

/// Removes all checkpoints but the given steps.
void remove_checkpoints_except(const std::string& run, const std::vector<int64_t>& keep);

}  // namespace tape::train
