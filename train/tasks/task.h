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

/// Options common to the runs of all built-in tasks (translation, language model, classifier, ...). The preset's value
/// is used for an option that is not set.
struct TaskOptions {
  std::string out;  ///< folder of the run
  Start start = Start::fresh;
  std::string preset = {};                     ///< "": the task's first
  std::optional<int64_t> steps = {};           ///< number of updates
  std::optional<double> epochs = {};           ///< passes over the data, instead of steps
  std::optional<double> seconds = {};          ///< time limit; 0: none
  std::optional<double> lr = {};               ///< peak learning rate
  std::optional<int64_t> warmup = {};          ///< steps
  std::optional<double> dropout = {};          ///< of embeddings and sublayers
  std::optional<double> weight_decay = {};     ///< of matrices and embedding tables
  std::optional<double> clip_norm = {};        ///< 0: no clipping
  std::optional<int64_t> accumulate = {};      ///< batches per update
  std::optional<int64_t> evaluate_every = {};  ///< steps
  std::optional<int64_t> patience = {};        ///< evaluations without a better score; 0: never stop early
  std::optional<int64_t> average_last = {};    ///< checkpoints averaged at the end; 0: none
  int64_t keep_last = 2;                       ///< checkpoints kept besides the best; more if they are averaged
  std::optional<double> ema_decay = {};        ///< decay of the weights' moving average; 0: none
  /// Save only each layer's input and recompute its other activations in the backward: less memory for one more
  /// forward, with bitwise the same result. Not with Sharding::parameters.
  bool checkpoint_layers = false;
  /// Update each parameter as soon as its gradient is complete, instead of storing all gradients: see TrainerOptions
  /// for its restrictions. Not with memory_limit.
  bool step_in_backward = false;
  optim::MomentDtype moments = optim::MomentDtype::parameter_dtype;  ///< dtype of Adam's moments
  std::optional<double> layer_decay =
      {};                               ///< ratio of each layer's learning rate to that of the layer above: RateOptions
  std::vector<PatternRate> lr_of = {};  ///< peak learning rates of parameters by name
  /// Limit in bytes for all tensors. If a step needs more, layers recompute their activations, and then batches are
  /// split into parts until it fits; the run prints this. So are those of an evaluation. Single process only.
  std::optional<int64_t> memory_limit = {};
  uint64_t seed = 1;
  bool allow_changes = false;  ///< resume although options or data differ from the checkpoint's
  MatmulPrecision precision = MatmulPrecision::highest;  ///< of matrix products in training
  /// Called before each batch; true saves a checkpoint and ends the run. A step with batches to come is given up.
  std::function<bool()> interrupted = {};
  /// The processes that train together, with the same options; null: a single process. A batch is shared by all ranks,
  /// `out` must be visible to all, and only rank 0 writes files and prints.
  std::shared_ptr<Communicator> ranks = {};
  DistributedOptions distributed = {};  ///< for several ranks
  /// The command that started the run, saved in its folder (RunDescription::command_json).
  std::string command_json = {};
  /// Called with the run's folder after each evaluation and at the end, to write a report. An exception becomes a
  /// warning of the run.
  std::function<void(const std::string& folder)> report = {};
};

}  // namespace tape::train
