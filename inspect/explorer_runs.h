#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

namespace tape::inspect {

/// "runs": what each run gave for the same texts. Of the likeliest tokens of each position, and the right one, it has
/// ln p over the whole vocabulary, for the same tokens in every run. Where all runs would take more than about `bytes`,
/// some are left out, evenly, but no fewer than two are kept, "of" says how many there were; and where two are too
/// much, of each only the last attention modules, "modules" of "modules_of".
///
/// Error (config) where a run's tokens, outputs or vocabulary are not those of the recording, naming it.
nlohmann::ordered_json runs_json(const Recording& recording, const std::vector<Frame>& runs, int64_t bytes);

}  // namespace tape::inspect
