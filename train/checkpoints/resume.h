#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../runs/run_folder.h"
#include "../trainer/trainer.h"
#include "checkpoint.h"

namespace tape::train {

/// The checkpoint that a run in this folder goes on from: the one its options name, else the newest that is whole.
/// Nothing where the folder does not resume or has none. Error (io, format) where the named one cannot be read. Of
/// several ranks rank 0 chooses, and all read the same.
std::optional<FoundCheckpoint> find_checkpoint(const RunFolder& folder, const TrainerOptions& options,
                                               const CheckpointFiles& files);

/// Renames the checkpoints behind the step that the run goes on from to "set-aside-checkpoint-N", which is not taken
/// for a checkpoint: they are broken, or of a future that will be another one. What was done, a line each.
std::vector<std::string> set_aside_later_checkpoints(const RunFolder& folder, int64_t step);

/// What differs between the machine of a saved run and that of now so that bits may differ; "" for nothing.
std::string machine_differences(const TrainerState& before, const TrainerOptions& options);

/// The settings of a run as its checkpoints hold them: those of the Trainer and what the user says (settings_json).
/// Error (format) for settings_json that is no JSON object.
std::string settings_of(const TrainerOptions& options);

/// Which settings of a saved run are others now, a phrase each; nothing where the checkpoint does not say. Where there
/// are some and the options do not allow it: Error (config) with all of them.
std::vector<std::string> changed_settings(const FoundCheckpoint& from, const TrainerOptions& options);

}  // namespace tape::train
