#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../runs/events.h"
#include "../runs/run_folder.h"
#include "../trainer/trainer.h"
#include "checkpoint.h"

namespace tape::train {

/// Weights that a run may finish with.
struct Candidate {
  std::string name;
  nn::StateDict weights;                      // values that differ from the model's own
  std::optional<Evaluation> evaluation = {};  // unknown for averages
  double score = 0;
};

/// Display name of the weights of a step; `averaged`: weights of the moving average.
std::string name_of_step(int64_t step, bool averaged);

/// Candidates in a run's folder besides the current weights: the averages requested by the options, and the best
/// checkpoint unless it is of the current step. Unreadable checkpoints are skipped with a warning.
std::vector<Candidate> saved_candidates(const RunFolder& folder, const TrainerState& state,
                                        const TrainerOptions& options, const CheckpointFiles& files,
                                        const std::function<void(const std::string&)>& warn);

}  // namespace tape::train
