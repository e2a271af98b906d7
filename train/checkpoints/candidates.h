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

/// Weights that a run may end with.
struct Candidate {
  std::string name;
  nn::StateDict weights;                      // what differs from the model's own
  std::optional<Evaluation> evaluation = {};  // not yet known of averages
  double score = 0;
};

/// What the weights of a step are called; `averaged`: those of the moving average.
std::string name_of_step(int64_t step, bool averaged);

/// Those that a run's folder holds besides the present weights: the averages that the options ask for, and the best
/// checkpoint where it is not of the present step. A checkpoint that cannot be read is passed over with a warning.
std::vector<Candidate> saved_candidates(const RunFolder& folder, const TrainerState& state,
                                        const TrainerOptions& options, const CheckpointFiles& files,
                                        const std::function<void(const std::string&)>& warn);

}  // namespace tape::train
