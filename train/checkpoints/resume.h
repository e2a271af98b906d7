#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../runs/run_folder.h"
#include "../trainer/trainer.h"
#include "checkpoint.h"

namespace tape::train {

/// The checkpoint that a run in this folder resumes from: the one its options name, otherwise the newest complete one.
/// nullopt if the folder is not resumed or has no checkpoint. Throws Error (io, format) if the named one cannot be
/// read. Rank 0 chooses, and all ranks read the same checkpoint.
std::optional<FoundCheckpoint> find_checkpoint(const RunFolder& folder, const TrainerOptions& options,
                                               const CheckpointFiles& files);

/// Renames the checkpoints after the step from which the run resumes to "set-aside-checkpoint-N", which is not read as
/// a checkpoint: they are broken, or belong to an abandoned continuation. Returns one message per renamed checkpoint.
std::vector<std::string> set_aside_later_checkpoints(const RunFolder& folder, int64_t step);

/// Differences between the machine of a saved run and this one that may change bits; "" if there are none.
std::string machine_differences(const TrainerState& before, const TrainerOptions& options);

/// The settings of a run as its checkpoints store them: those of the Trainer and the user's (settings_json). Throws
/// Error (format) if settings_json is not a JSON object.
std::string settings_of(const TrainerOptions& options);

/// The settings that differ from those of a saved run, one phrase each; empty if the checkpoint has none. Throws Error
/// (config) listing them if there are any and the options do not allow it.
std::vector<std::string> changed_settings(const FoundCheckpoint& from, const TrainerOptions& options);

}  // namespace tape::train
