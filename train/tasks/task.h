#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../autograd/kernels/product/matmul_precision.h"
#include "../../optim/adam.h"
#include "../distributed/distributed.h"
#include "../init/trained_parameters.h"
#include "../runs/run_folder.h"

namespace tape::train {

/// What every run of a built-in task (translation, language model, classifier) can be told. Where an option is not
/// given, the preset's value is taken.
struct TaskOptions {
  std::string out;  ///< folder of the run
  Start start = Start::fresh;
  std::string preset = {};                     ///< "": the task's first
  std::optional<int64_t> steps = {};           ///< updates
  std::optional<double> epochs = {};           ///< passes over the data, in place of steps
  std::optional<double> seconds = {};          ///< stop after so much time; 0: never
  std::optional<double> lr = {};               ///< the highest of the schedule
  std::optional<int64_t> warmup = {};          ///< steps
  std::optional<double> dropout = {};          ///< of embeddings and sublayers
  std::optional<double> weight_decay = {};     ///< of matrices and tables
  std::optional<double> clip_norm = {};        ///< 0: no clipping
  std::optional<int64_t> accumulate = {};      ///< batches an update
  std::optional<int64_t> evaluate_every = {};  ///< steps
  std::optional<int64_t> patience = {};        ///< evaluations without a better score; 0: never stop early
  std::optional<int64_t> average_last = {};    ///< checkpoints averaged at the end; 0: none
  int64_t keep_last = 2;                       ///< checkpoints kept beside the best; more where they are averaged
  std::optional<double> ema_decay = {};        ///< moving average of the weights; 0: none
  /// Keep of each layer's activations its input alone, and compute the others once more for the backward: less memory
  /// for one more forward, and the same bits. Not with Sharding::parameters.
  bool checkpoint_layers = false;
  /// Update each parameter as soon as its gradient is there, in place of holding all of them: TrainerOptions, which
  /// says what must be off for it. Not with memory_limit.
  bool step_in_backward = false;
  optim::MomentKind moments = optim::MomentKind::of_parameter;  ///< what Adam's running means are kept as
  std::optional<double> layer_decay = {};  ///< the rate of each layer beside that of the one above it: see RateOptions
  std::vector<PatternRate> lr_of = {};     ///< the highest rate of parameters by their names
  /// Bytes that tensors may take in all. Where a step takes more, layers are checkpoints, and then batches are learned
  /// from in parts until it fits; the run says so. Of one process.
  std::optional<int64_t> memory_limit = {};
  uint64_t seed = 1;
  bool allow_changes = false;  ///< resume though options or data are others than the checkpoint's
  MatmulPrecision precision = MatmulPrecision::highest;  ///< of the products of training
  std::function<bool()> interrupted = {};  ///< asked after each step; true saves a checkpoint and ends the run
  /// The processes that train together, each told the same; null: this one alone. Batches are those of all together,
  /// `out` is a folder that all see, and rank 0 alone writes and speaks.
  std::shared_ptr<Communicator> ranks = {};
  DistributedOptions distributed = {};  ///< of several ranks
  /// The command that started the run, kept in its folder (RunDescription::command_json).
  std::string command_json = {};
  /// Called with the run's folder after each evaluation and at the end, to write a report. An exception becomes a
  /// warning of the run.
  std::function<void(const std::string& folder)> report = {};
};

}  // namespace tape::train
