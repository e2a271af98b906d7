#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint.h"
#include "run_folder.h"
#include "trainer.h"

namespace tape::train {

/// The checkpoint that a run in this folder goes on from: the one its options name, else the newest that is whole.
/// Nothing where the folder does not resume or has none. Error (io, format) where the named one cannot be read.
std::optional<FoundCheckpoint> find_checkpoint(const RunFolder& folder, const TrainerOptions& options,
                                               const CheckpointFiles& files);

/// Renames the checkpoints behind the step that the run goes on from to "set-aside-checkpoint-N", which is not taken
/// for a checkpoint: they are broken, or of a future that will be another one. What was done, a line each.
std::vector<std::string> set_aside_later_checkpoints(const RunFolder& folder, int64_t step);

/// What differs between the machine and options of a saved run and those of now so that bits may differ; "" for
/// nothing.
std::string differences(const TrainerState& before, const TrainerOptions& options);

}  // namespace tape::train
